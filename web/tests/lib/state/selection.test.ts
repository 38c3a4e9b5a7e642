import { describe, expect, it } from "vitest";
import { MOST, Selection } from "../../../src/lib/state/selection.svelte";

/** Over the numbers from 0 on, each of which is its own place. */
const numbers = (count = 5000) =>
  new Selection((first, end) => Promise.resolve(Array.from({ length: Math.min(end, count) - first }, (_, i) => ({ id: first + i }))));

const ids = (selection: Selection<{ id: number }>) => [...selection.items.keys()].sort((a, b) => a - b);

describe("Selection", () => {
  it("takes single items, and lets go of them", async () => {
    const selection = numbers();
    await selection.toggle(3);
    await selection.toggle(7);
    expect([ids(selection), selection.has(3), selection.size]).toEqual([[3, 7], true, 2]);
    await selection.toggle(3);
    expect(ids(selection)).toEqual([7]);
  });

  it("takes a range from the item that was chosen last, either way, beside what was there", async () => {
    const selection = numbers();
    await selection.toggle(20);
    await selection.toggle(5);
    await selection.extend(8);
    expect(ids(selection)).toEqual([5, 6, 7, 8, 20]);
    await selection.extend(3);
    expect(ids(selection)).toEqual([3, 4, 5, 20]);
  });

  it("takes the first items, and tells if there are more than it can take", async () => {
    const selection = numbers();
    await selection.toggle(4000);
    await selection.first(500);
    expect([ids(selection).at(-1), selection.size, selection.full]).toEqual([499, 500, false]);
    await selection.first(MOST + 1);
    expect([selection.size, selection.full]).toEqual([MOST, true]);
    await selection.first(0);
    expect(selection.size).toBe(0);
  });

  it("does not take what comes after it was cleared", async () => {
    const selection = numbers();
    const coming = selection.first(10);
    selection.clear();
    await coming;
    expect(selection.size).toBe(0);
  });
});
