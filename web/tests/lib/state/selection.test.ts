import { describe, expect, it, vi } from "vitest";
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

  it("takes all that was asked for, in that order, however long it takes to come", async () => {
    const waiting: (() => void)[] = [];
    const selection = new Selection<{ id: number }>(async (first, end) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return Array.from({ length: end - first }, (_, i) => ({ id: first + i }));
    });
    const steps = [selection.toggle(20), selection.toggle(4), selection.extend(9)];
    for (const step of steps) {
      await vi.waitFor(() => expect(waiting).toHaveLength(1));
      waiting.pop()!();
      await step;
    }
    expect(ids(selection)).toEqual([4, 5, 6, 7, 8, 9, 20]);
  });

  it("goes on after items that could not be fetched", async () => {
    let fails = true;
    const selection = new Selection<{ id: number }>((first) => (fails ? Promise.reject(new Error("gone")) : Promise.resolve([{ id: first }])));
    await expect(selection.toggle(3)).rejects.toThrow("gone");
    fails = false;
    await selection.toggle(7);
    expect(ids(selection)).toEqual([7]);
  });
});
