import { describe, expect, it } from "vitest";
import { cellsBetween, headingTop, layOut, place, vertical } from "../../../src/lib/layout/gridLayout";

const shape = { width: 1000, count: 200_000, size: 120, gap: 8, split: Infinity, splitHeight: 56 };

describe("layOut", () => {
  it("fills the width with as many columns as fit", () => {
    const layout = layOut(shape);
    expect(layout.columns).toBe(7);
    expect(layout.cell * 7 + 8 * 6).toBeCloseTo(1000);
    expect(layout.rows).toBe(Math.ceil(200_000 / 7));
  });

  it("has one column at least, and no height without cells", () => {
    expect(layOut({ ...shape, width: 50 }).columns).toBe(1);
    expect(layOut({ ...shape, count: 0 }).height).toBe(0);
  });
});

describe("cellsBetween", () => {
  it("finds exactly the cells that a literal search finds", () => {
    for (const split of [0, 1, 10, 14, 50, Infinity]) {
      const layout = layOut({ ...shape, count: 50, split });
      for (const top of [0, 60, 130, 131, 300, 500, 700]) {
        const [first, end] = cellsBetween(layout, top, top + 200);
        const seen = Array.from({ length: 50 }, (_, index) => index).filter((index) => {
          const { y } = place(layout, index);
          return y + layout.cell > top && y < top + 200;
        });
        expect(seen.every((index) => index >= first && index < end), `${split} ${top}`).toBe(true);
        expect(end - first).toBeLessThanOrEqual(seen.length + 2 * layout.columns);
      }
    }
  });

  it("stays small at 200,000 cells, wherever it looks", () => {
    const layout = layOut(shape);
    for (const part of [0, 0.1, 0.5, 0.999]) {
      const top = layout.height * part;
      const [first, end] = cellsBetween(layout, top, top + 900);
      expect(end - first).toBeLessThanOrEqual(10 * layout.columns);
      expect(end).toBeLessThanOrEqual(200_000);
    }
    expect(cellsBetween(layout, layout.height - 100, layout.height)[1]).toBe(200_000);
  });
});

describe("the split", () => {
  it("begins a row of its own below the heading", () => {
    const layout = layOut({ ...shape, count: 20, split: 9 });
    expect(place(layout, 8)).toEqual({ x: layout.pitch, y: layout.pitch });
    expect(place(layout, 9)).toEqual({ x: 0, y: 2 * layout.pitch + 56 });
    expect(headingTop(layout)).toBe(2 * layout.pitch);
  });
});

describe("vertical", () => {
  it("keeps the column, or takes the last cell of a shorter row", () => {
    const layout = layOut({ ...shape, count: 20, split: 9 });
    expect(vertical(layout, 3, 1)).toBe(8);
    expect(vertical(layout, 1, 1)).toBe(8);
    expect(vertical(layout, 8, 1)).toBe(10);
    expect(vertical(layout, 10, -1)).toBe(8);
    expect(vertical(layout, 2, -1)).toBe(2);
    expect(vertical(layout, 19, 1)).toBe(19);
  });
});
