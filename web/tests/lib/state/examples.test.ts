import { beforeEach, describe, expect, it } from "vitest";
import { Examples } from "../../../src/lib/state/examples.svelte";

const picture = (id: number) => ({ id, name: `${id}.jpg` });

beforeEach(() => sessionStorage.clear());

describe("Examples", () => {
  it("belong to their collection, in which numbers of pictures mean something", () => {
    Examples.of("a").mark(picture(1), true);
    Examples.of("a").mark(picture(2), false);
    expect([Examples.of("a").relevant, Examples.of("a").irrelevant]).toEqual([[1], [2]]);
    expect(Examples.of("b").list).toEqual([]);
    expect(Examples.of("b").of(1)).toBeUndefined();
  });

  it("lose a mark that is made twice, and change one that is made the other way", () => {
    const examples = Examples.of("c");
    examples.mark(picture(1), true);
    examples.mark(picture(1), false);
    expect(examples.of(1)).toBe(false);
    examples.mark(picture(1), false);
    expect(examples.list).toEqual([]);
  });

  it("are marked many at once, whatever they were before", () => {
    const examples = Examples.of("e");
    examples.mark(picture(1), true);
    examples.mark(picture(2), false);
    examples.markAll([picture(1), picture(2), picture(3)], true);
    expect([examples.relevant, examples.irrelevant]).toEqual([[1, 2, 3], []]);
  });

  it("are there again after a reload, until they are cleared", () => {
    Examples.of("d").mark(picture(7), true);
    expect(new Examples("d").relevant).toEqual([7]);
    Examples.of("d").clear();
    expect(new Examples("d").list).toEqual([]);
    expect(sessionStorage).toHaveLength(0);
  });

  it("begin a search together with words, which stay when pictures are let go", () => {
    const examples = Examples.of("g");
    examples.mark(picture(1), true);
    examples.mark(picture(2), false);
    expect(examples.query).toEqual({ relevant: [1], irrelevant: [2], text: null });
    examples.text = " a red circle ";
    examples.clear();
    expect(examples.query).toEqual({ relevant: [], irrelevant: [], text: "a red circle" });
  });
});
