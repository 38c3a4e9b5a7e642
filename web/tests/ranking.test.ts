import { describe, expect, it, vi } from "vitest";
import { Ranking } from "../src/lib/ranking.svelte";
import type { Session } from "../src/lib/session.svelte";

/** A server whose results are of one revision, and its table of thresholds of another. */
function answering(results: number, thresholds: number) {
  vi.stubGlobal("fetch", (path: string) => {
    const body = path.includes("/results")
      ? { total: 1, offset: 0, revision: results, results: [{ id: 1, name: "1.jpg", probability: 0.9, label: null }] }
      : { revision: thresholds, thresholds: [{ probability: 0.5, count: thresholds, precision: 1, recall: 1 }] };
    return Promise.resolve(new Response(JSON.stringify(body)));
  });
}

describe("Ranking", () => {
  it("shows no thresholds of an older revision than the results", async () => {
    const look = vi.fn();
    const ranking = new Ranking({ id: "s", look } as unknown as Session);
    answering(1, 1);
    await ranking.show(1, 0, 1);
    expect([ranking.revision, ranking.thresholds[0]?.count]).toEqual([1, 1]);
    expect(look).not.toHaveBeenCalled();
    answering(3, 2);
    await ranking.show(2, 0, 1);
    expect(ranking.thresholds[0]?.count).toBe(1);
    expect(look).toHaveBeenCalled();
  });
});
