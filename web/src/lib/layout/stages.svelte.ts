/** Parts of a page that are mounted one after the other, a frame for each: no frame has to wait for all of them. */
export class Stages {
  /** How many parts may be there by now. */
  reached = $state(1);
  #frame = 0;

  constructor(readonly count: number) {
    this.#next();
  }

  /** No more parts: the page is gone. */
  stop(): void {
    cancelAnimationFrame(this.#frame);
  }

  #next(): void {
    if (this.reached === this.count) return;
    this.#frame = requestAnimationFrame(() => {
      this.reached++;
      this.#next();
    });
  }
}
