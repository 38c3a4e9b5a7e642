import { describe, expect, it } from "vitest";
import { ago, baseName, count, expected, folder, likely, messageOf, outOf, percent, perSecond, pictures, timeLeft } from "../../../src/lib/text/format";

describe("format", () => {
  it("counts", () => {
    expect(count(200_000.4)).toBe("200,000");
    expect(pictures(1)).toBe("1 picture");
    expect(pictures(0)).toBe("0 pictures");
    expect([outOf(12, 60), outOf(1236, 1200)]).toEqual(["12 of 60", "1,236 instead of 1,200"]);
    expect([perSecond(1234.5), perSecond(3.14159)]).toEqual(["1,235", "3.1"]);
  });

  it("never rounds to certainty", () => {
    const shown = { 0: "0 %", 0.001: "< 1 %", 0.0099: "< 1 %", 0.01: "1 %", 0.5: "50 %", 0.99: "99 %", 0.991: "> 99 %", 1: "100 %", 1.2: "100 %" };
    for (const [value, text] of Object.entries(shown)) expect(percent(Number(value))).toBe(text);
  });

  it("is never sure of what nobody has said", () => {
    expect([0, 0.5, 1].map(likely)).toEqual(["< 1 %", "50 %", "> 99 %"]);
  });

  it("tells from where to where, if that differs", () => {
    expect(expected({ value: 0.83, low: 0.714, high: 0.92 })).toBe("83 %, between 71 % and 92 %");
    expect(expected({ value: 1, low: 1, high: 1 })).toBe("100 %");
  });

  it("tells the time left, if it can", () => {
    expect(timeLeft(0, 100, 0)).toBe("");
    expect(timeLeft(0, 100, 10)).toBe("less than a minute");
    expect(timeLeft(0, 1800, 10)).toBe("3 min");
    expect(timeLeft(0, 72_000, 10)).toBe("2 h");
    expect(timeLeft(0, 78_000, 10)).toBe("2 h 10 min");
  });

  it("tells how long ago", () => {
    const now = Date.parse("2024-05-10T12:00:00Z");
    expect(ago("2024-05-10T11:59:40Z", now)).toBe("just now");
    expect(ago("2024-05-10T11:55:00Z", now)).toBe("5 minutes ago");
    expect(ago("2024-05-09T12:00:00Z", now)).toBe("yesterday");
    expect(ago("2023-01-05T12:00:00Z", now)).toBe("Jan 5, 2023");
    expect(ago("nonsense", now)).toBe("");
  });

  it("begins what the server says as a sentence", () => {
    expect(messageOf(new Error("this is no picture"))).toBe("This is no picture");
    expect([messageOf("no"), messageOf("")]).toEqual(["No", ""]);
  });

  it("takes paths apart", () => {
    expect([baseName("a/b/c.jpg"), folder("a/b/c.jpg")]).toEqual(["c.jpg", "a/b"]);
    expect([baseName("c.jpg"), folder("c.jpg")]).toEqual(["c.jpg", ""]);
  });
});
