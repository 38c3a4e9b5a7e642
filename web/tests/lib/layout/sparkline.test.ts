import { describe, expect, it } from "vitest";
import { points } from "../../../src/lib/layout/sparkline";

describe("points", () => {
  it("keeps within the edges", () => {
    expect(points([0, 5, 10], 120, 32, 3, 10)).toEqual([
      { x: 3, y: 29 },
      { x: 60, y: 16 },
      { x: 117, y: 3 },
    ]);
    expect(points([2], 120, 32, 3, 1)).toEqual([{ x: 3, y: 3 }]);
    expect(points([0, 0], 120, 32, 3, 0)[1]).toEqual({ x: 117, y: 29 });
  });
});
