/** What a pointer does to a selection: a mouse is dragged over items, a finger stays on one. */

/** Milliseconds that a finger stays on an item to select it. */
const LONG = 450;
/** Pixels that a finger may move meanwhile. */
const STEADY = 10;

export interface Selecting {
  begin(index: number): unknown;
  extend(index: number): unknown;
  toggle(index: number): unknown;
}

export class SelectionPointer {
  #pressed: { index: number; x: number; y: number; dragging: boolean } | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #handled = false;

  constructor(readonly selection: Selecting) {}

  /** A pointer was pressed on an item. */
  down(event: PointerEvent, index: number): void {
    this.#handled = false;
    if (event.button !== 0 || event.shiftKey || event.ctrlKey || event.metaKey) return;
    this.#pressed = { index, x: event.clientX, y: event.clientY, dragging: false };
    if (event.pointerType === "mouse") return;
    this.#timer = setTimeout(() => {
      this.#handled = true;
      this.#pressed = null;
      void this.selection.toggle(index);
    }, LONG);
  }

  /** A pointer has moved, and is over an item, or over none. */
  move(event: PointerEvent, index: number | null): void {
    const pressed = this.#pressed;
    if (!pressed) return;
    if (event.pointerType !== "mouse") {
      // The finger scrolls.
      if (Math.hypot(event.clientX - pressed.x, event.clientY - pressed.y) > STEADY) this.end();
      return;
    }
    if ((event.buttons & 1) === 0) return this.end();
    if (index === null || (!pressed.dragging && index === pressed.index)) return;
    if (!pressed.dragging) void this.selection.begin(pressed.index);
    pressed.dragging = true;
    this.#handled = true;
    void this.selection.extend(index);
  }

  /** The pointer was lifted, or is used for something else. */
  end(): void {
    clearTimeout(this.#timer);
    this.#pressed = null;
  }

  /** Whether the click that follows belongs to what the pointer did: it is to do nothing else. */
  takesClick(): boolean {
    const taken = this.#handled;
    this.#handled = false;
    return taken;
  }
}
