import { describe, expect, it, vi } from "vitest";
import { press } from "../../../src/lib/input/press";
import { Ranking } from "../../../src/lib/state/ranking.svelte";
import type { Session } from "../../../src/lib/state/session.svelte";

/** A server whose results are of one revision, and its table of thresholds of another. */
function answering(results: number, thresholds: number) {
  vi.stubGlobal("fetch", (path: string) => {
    const body = path.includes("/results")
      ? { total: 1, offset: 0, revision: results, results: [{ id: 1, name: "1.jpg", probability: 0.9, label: null }] }
      : { revision: thresholds, balanced: 0.5, thresholds: [{ probability: 0.5, count: thresholds }] };
    return Promise.resolve(new Response(JSON.stringify(body)));
  });
}

describe("Ranking", () => {
  it("shows no thresholds of an older revision than the results", async () => {
    const look = vi.fn();
    const ranking = new Ranking({ id: "s", look } as unknown as Session);
    answering(1, 1);
    await ranking.show({ revision: 1, progress: [] }, 0, 1);
    expect([ranking.revision, ranking.table?.thresholds[0]?.count]).toEqual([1, 1]);
    expect(look).not.toHaveBeenCalled();
    answering(3, 2);
    await ranking.show({ revision: 2, progress: [] }, 0, 1);
    expect(ranking.table?.thresholds[0]?.count).toBe(1);
    expect(look).toHaveBeenCalled();
  });

  it("has learnt when results come that know of an answer, and not before", async () => {
    const ranking = new Ranking({ id: "s", look: vi.fn() } as unknown as Session);
    answering(1, 1);
    await ranking.show({ revision: 1, progress: [] }, 0, 1);
    expect(ranking.learnt).toBe(false);
    answering(2, 2);
    const shown = ranking.show({ revision: 2, progress: [{ round: 1, relevant: 7, low: 5, high: 9 }] }, 0, 1);
    expect(ranking.learnt).toBe(false);
    await shown;
    expect(ranking.learnt).toBe(true);
  });

  it("moves nothing that a pointer is pressed on, until the click is over", async () => {
    const ranking = new Ranking({ id: "s", look: vi.fn() } as unknown as Session);
    answering(1, 1);
    await ranking.show({ revision: 1, progress: [] }, 0, 1);
    const before = ranking.pages;
    press.begin();
    answering(2, 2);
    const shown = ranking.show({ revision: 2, progress: [] }, 0, 1);
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(ranking.pages).toBe(before);
    let clicked: unknown;
    addEventListener("click", () => (clicked = ranking.pages), { once: true });
    for (const name of ["pointerup", "click"]) document.body.dispatchEvent(new Event(name, { bubbles: true }));
    await shown;
    expect(clicked).toBe(before);
    expect(ranking.revision).toBe(2);
    expect(ranking.pages).not.toBe(before);
  });
});
