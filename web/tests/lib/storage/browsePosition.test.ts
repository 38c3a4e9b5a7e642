import { beforeEach, describe, expect, it } from "vitest";
import { keepPosition, positionIn } from "../../../src/lib/storage/browsePosition";

beforeEach(() => sessionStorage.clear());

describe("the position in a collection", () => {
  it("is kept for each of them", () => {
    keepPosition("a", 400);
    expect([positionIn("a"), positionIn("b")]).toEqual([400, 0]);
  });
});
