import { describe, expect, it } from "vitest";
import { columnsFor } from "../../../src/lib/layout/cardColumns";

describe("columnsFor", () => {
  it("puts cards side by side if they fit", () => {
    expect([1, 4, 5, 6, 8, 9, 24].map((cards) => columnsFor(cards, 1200))).toEqual([1, 4, 5, 3, 4, 6, 6]);
  });

  it("else makes rows as even as can be, of two at least", () => {
    expect([700, 350, 0].map((width) => columnsFor(4, width))).toEqual([2, 2, 2]);
    expect([5, 8, 24].map((cards) => columnsFor(cards, 700))).toEqual([3, 3, 3]);
    expect(columnsFor(1, 300)).toBe(1);
  });
});
