import { describe, expect, it } from "vitest";
import { isFiltered, isPlain, parameters, PLAIN } from "../../../src/lib/state/arrangement";

describe("parameters", () => {
  it("are none for the results as they are, which has those below the threshold", () => {
    expect([isPlain(PLAIN), parameters(PLAIN, 0.5)]).toEqual([true, {}]);
  });

  it("name the threshold, and what is filled in", () => {
    expect(parameters({ ...PLAIN, sort: "name" }, 0.25)).toEqual({ sort: "name", threshold: "0.25" });
    const filtered = { ...PLAIN, folder: "a/b", to: "2024-12-31" };
    expect(parameters(filtered, 0)).toEqual({ sort: "probability", threshold: "0", folder: "a/b", to: "2024-12-31" });
    expect([isFiltered(filtered), isPlain(filtered), isFiltered({ ...PLAIN, sort: "name" })]).toEqual([true, false, false]);
  });
});
