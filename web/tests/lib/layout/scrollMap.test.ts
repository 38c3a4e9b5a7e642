import { describe, expect, it } from "vitest";
import { LONGEST, ScrollMap } from "../../../src/lib/layout/scrollMap";

const VIEW = 900;
const HEIGHT = 66_000_000;

function tall(): ScrollMap {
  const map = new ScrollMap();
  map.resize(HEIGHT, VIEW);
  return map;
}

describe("ScrollMap", () => {
  it("is the identity where the browser can scroll that far", () => {
    const map = new ScrollMap();
    map.resize(5_000_000, VIEW);
    expect(map.scrolled(123_456)).toBe(123_456);
    expect(map.shift).toBe(0);
    expect(map.range).toBe(5_000_000);
  });

  it("moves pixel by pixel for small steps, however tall", () => {
    const map = tall();
    map.scrolled(4_000_000);
    const before = map.position;
    expect(map.scrolled(4_000_120)).toBe(before + 120);
    expect(map.scrolled(4_000_000)).toBe(before);
  });

  it("reaches both ends by the scroll bar", () => {
    const map = tall();
    expect(map.range).toBe(LONGEST);
    expect(map.scrolled(LONGEST - VIEW)).toBeCloseTo(HEIGHT - VIEW);
    expect(map.scrolled(0)).toBe(0);
  });

  it("puts the scroll bar where the content is, without moving the content", () => {
    const map = tall();
    map.scrolled(4_000_000);
    for (let step = 1; step <= 50; step++) map.scrolled(4_000_000 + step * 500);
    const position = map.position;
    const bar = map.barFor(position);
    map.moveTo(position, bar);
    expect(map.position).toBe(position);
    expect(map.scrolled(bar)).toBe(position);
    expect(bar).toBeLessThan(4_025_000);
  });

  it("never leaves the content", () => {
    const map = tall();
    map.moveTo(HEIGHT, map.barFor(HEIGHT));
    expect(map.position).toBe(HEIGHT - VIEW);
    map.resize(20_000_000, VIEW);
    expect(map.position).toBe(20_000_000 - VIEW);
  });
});
