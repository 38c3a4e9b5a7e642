import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { SelectionPointer } from "../../../src/lib/input/selectionPointer";

/** What a selection is told to do. */
function told() {
  const calls: string[] = [];
  const pointer = new SelectionPointer({
    begin: (index) => calls.push(`begin ${index}`),
    extend: (index) => calls.push(`extend ${index}`),
    toggle: (index) => calls.push(`toggle ${index}`),
  });
  return { calls, pointer };
}

const event = (pointerType: string, more: object = {}) =>
  ({ pointerType, button: 0, buttons: 1, clientX: 0, clientY: 0, ...more }) as PointerEvent;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("a mouse", () => {
  it("selects what it is dragged over, and that is no click", () => {
    const { calls, pointer } = told();
    pointer.down(event("mouse"), 4);
    for (const index of [4, 5, null, 12]) pointer.move(event("mouse"), index);
    pointer.end();
    pointer.move(event("mouse"), 20);
    expect(calls).toEqual(["begin 4", "extend 5", "extend 12"]);
    expect([pointer.takesClick(), pointer.takesClick()]).toEqual([true, false]);
  });

  it("that stays on an item, or has another button or a key pressed, selects nothing by itself", () => {
    const { calls, pointer } = told();
    for (const more of [{}, { button: 2 }, { shiftKey: true }]) {
      pointer.down(event("mouse", more), 4);
      pointer.move(event("mouse"), 4);
      vi.advanceTimersByTime(1000);
      pointer.end();
    }
    pointer.down(event("mouse", { ctrlKey: true }), 4);
    pointer.move(event("mouse"), 9);
    expect([calls, pointer.takesClick()]).toEqual([[], false]);
  });
});

describe("a finger", () => {
  it("selects the item it stays on", () => {
    const { calls, pointer } = told();
    pointer.down(event("touch"), 4);
    pointer.move(event("touch", { clientX: 5 }), 4);
    vi.advanceTimersByTime(1000);
    expect([calls, pointer.takesClick()]).toEqual([["toggle 4"], true]);
  });

  it("that moves away scrolls, and one that is lifted taps", () => {
    const { calls, pointer } = told();
    pointer.down(event("touch"), 4);
    pointer.move(event("touch", { clientY: 40 }), 4);
    vi.advanceTimersByTime(1000);
    pointer.down(event("touch"), 4);
    pointer.end();
    vi.advanceTimersByTime(1000);
    expect([calls, pointer.takesClick()]).toEqual([[], false]);
  });
});
