/**
 * Scrolling further than a browser can.
 *
 * Elements may only be some ten million pixels high. What is higher gets a shorter scroll range, in which
 * small steps (a wheel, a finger, a key) move the content pixel by pixel, while long ones (the scroll bar)
 * move in proportion. Once scrolling rests, `rest` tells where the scroll bar belongs.
 */
export const LONGEST = 8_000_000;

export class ScrollMap {
  #height = 0;
  #view = 0;
  #bar = 0;
  #position = 0;

  /** The height that the element gets. */
  get range(): number {
    return Math.min(this.#height, LONGEST);
  }

  get scaled(): boolean {
    return this.#height > LONGEST;
  }

  /** Where the content is: how many of its pixels are above the view. */
  get position(): number {
    return this.#position;
  }

  /** How far to move the content against its element, so that it is seen at `position`. */
  get shift(): number {
    return this.#bar - this.#position;
  }

  resize(height: number, view: number): void {
    this.#height = height;
    this.#view = view;
    if (!this.scaled) this.#position = this.#bar;
    else this.#position = this.#clamp(this.#position);
  }

  /** The scroll bar is at `bar`, from the top of the element; it may be before or behind it. */
  scrolled(bar: number): number {
    const step = bar - this.#bar;
    const small = Math.abs(step) <= 4 * this.#view;
    this.#bar = bar;
    if (!this.scaled || bar <= 0) this.#position = bar;
    else this.#position = this.#clamp(small ? this.#position + step : bar * this.#ratio());
    return this.#position;
  }

  /** Where the scroll bar belongs if the content is to be seen at `position`. */
  barFor(position: number): number {
    return this.scaled ? this.#clamp(position) / this.#ratio() : position;
  }

  /** Show `position` with the scroll bar at `bar`, which the caller sets. */
  moveTo(position: number, bar: number): void {
    this.#bar = bar;
    this.#position = this.scaled ? this.#clamp(position) : bar;
  }

  #ratio(): number {
    return (this.#height - this.#view) / (this.range - this.#view);
  }

  #clamp(position: number): number {
    return Math.min(Math.max(0, position), Math.max(0, this.#height - this.#view));
  }
}
