import { describe, expect, it } from "vitest";
import { answerOf } from "../../../src/lib/input/answerKeys";

describe("answerOf", () => {
  it("takes letters and numbers", () => {
    const given = ["y", "N", "3", "x", "Enter"].map((key) => answerOf(new KeyboardEvent("keydown", { key })));
    expect(given).toEqual(["yes", "no", "unsure", undefined, undefined]);
  });
});
