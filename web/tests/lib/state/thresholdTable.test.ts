import { describe, expect, it } from "vitest";
import { nearest } from "../../../src/lib/state/thresholdTable";

describe("nearest", () => {
  const ALL = { value: 1, low: 1, high: 1 };
  const table = Array.from({ length: 101 }, (_, i) => ({ probability: i / 100, count: 100 - i, stacks: 100 - i, precision: ALL, recall: ALL }));

  it("finds the point of the table, between points the nearer", () => {
    expect(nearest(table, 0.5)?.count).toBe(50);
    expect(nearest(table, 0.504)?.count).toBe(50);
    expect(nearest(table, 0.506)?.count).toBe(49);
    expect(nearest(table, -1)?.count).toBe(100);
    expect(nearest(table, 2)?.count).toBe(0);
    expect(nearest([], 0.5)).toBeUndefined();
  });
});
