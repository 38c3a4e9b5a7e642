import { describe, expect, it } from "vitest";
import { parse } from "../../../src/lib/state/router.svelte";

describe("parse", () => {
  it("reads the place from the address", () => {
    expect(parse("")).toEqual({ page: "browse", collection: null });
    expect(parse("#/")).toEqual({ page: "browse", collection: null });
    expect(parse("#/searches")).toEqual({ page: "searches" });
    expect(parse("#/search/a%20b")).toEqual({ page: "search", id: "a b" });
    expect(parse("#/search/%")).toEqual({ page: "search", id: "%" });
    expect(parse("#/check/a")).toEqual({ page: "check", id: "a" });
    expect(parse("#/collection/x")).toEqual({ page: "browse", collection: "x" });
  });
});
