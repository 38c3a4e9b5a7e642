/** A pointer that is pressed on a cell. Until its click is over the cell must not move, or the click would be lost. */
class Press {
  #pressed = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #waiting: (() => void)[] = [];

  constructor() {
    for (const end of ["pointerup", "pointercancel"]) addEventListener(end, () => this.#end(), true);
    // Whoever turns to another window may lift the pointer there.
    addEventListener("blur", () => this.#end());
  }

  begin(): void {
    clearTimeout(this.#timer);
    this.#pressed = true;
  }

  /** Resolves when nothing is pressed. */
  async over(): Promise<void> {
    if (this.#pressed) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  #end(): void {
    clearTimeout(this.#timer);
    // The click comes right after this event.
    this.#timer = setTimeout(() => {
      this.#pressed = false;
      for (const resolve of this.#waiting.splice(0)) resolve();
    });
  }
}

export const press = new Press();
