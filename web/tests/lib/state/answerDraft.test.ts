import { describe, expect, it } from "vitest";
import { divide, EMPTY, fromAnswers, isComplete, nextOpen, toAnswers, withAnswer, without, withoutLast } from "../../../src/lib/state/answerDraft";

const batch = [1, 2, 3].map((id) => ({ id, name: `${id}.jpg` }));

describe("a round", () => {
  it("is complete when every picture has an answer, and never if there are none", () => {
    const two = withAnswer(withAnswer(EMPTY, 1, "yes"), 2, "unsure");
    expect(isComplete(two, batch)).toBe(false);
    expect(isComplete(withAnswer(two, 3, "no"), batch)).toBe(true);
    expect(isComplete(EMPTY, [])).toBe(false);
  });

  it("goes on to the next open picture, around the end", () => {
    const draft = withAnswer(withAnswer(EMPTY, 2, "yes"), 3, "no");
    expect(nextOpen(draft, batch, 1)).toBe(0);
    expect(nextOpen(EMPTY, batch, -1)).toBe(0);
    expect(nextOpen(withAnswer(draft, 1, "no"), batch, 1)).toBe(-1);
  });

  it("takes back the answer given last, a changed one counting as new", () => {
    const draft = withAnswer(withAnswer(withAnswer(EMPTY, 1, "yes"), 2, "no"), 1, "no");
    expect([...withoutLast(draft).keys()]).toEqual([2]);
    expect(without(draft, 1).has(1)).toBe(false);
    expect(withoutLast(EMPTY).size).toBe(0);
  });

  it("keeps apart what was said of pictures that are not asked about any more", () => {
    const { kept, orphans } = divide(withAnswer(withAnswer(EMPTY, 1, "yes"), 9, "no"), batch);
    expect(toAnswers(kept)).toEqual({ "1": "yes" });
    expect(toAnswers(orphans)).toEqual({ "9": "no" });
    expect(fromAnswers(toAnswers(orphans))).toEqual(orphans);
  });
});
