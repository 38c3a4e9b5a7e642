import { mount, unmount } from "svelte";
import { describe, expect, it } from "vitest";
import Standing from "../../src/components/Standing.svelte";
import type { SearchState } from "../../src/lib/server/types";

/** What the panel shows of a search. */
function shown(state: Pick<SearchState, "progress" | "outlook"> & { counted?: boolean }) {
  const target = document.createElement("div");
  const panel = mount(Standing, { target, props: { state: { summary: "So far", counted: true, ...state } as SearchState } });
  const text = (id: string) => target.querySelector(`[data-testid=${id}]`)?.textContent.replace(/\s+/g, " ").trim();
  const found = {
    summary: text("summary"),
    relevant: text("relevant"),
    outlook: text("outlook"),
    line: target.querySelector("svg")?.getAttribute("aria-label"),
    meter: target.querySelector("[role=meter]")?.getAttribute("aria-valuetext"),
    busy: target.querySelector("section")?.getAttribute("aria-busy"),
  };
  void unmount(panel);
  return found;
}

describe("Standing", () => {
  it("shows a sentence and no number before the first answer", () => {
    const found = shown({ progress: [], outlook: null });
    expect(found).toEqual({ summary: "So far", relevant: undefined, outlook: undefined, line: undefined, meter: undefined, busy: "false" });
  });

  it("says that its figures are not yet those of the last answers", () => {
    expect(shown({ progress: [], outlook: null, counted: false }).busy).toBe("true");
  });

  it("shows how many are expected, from where to where, and what a round is likely to change", () => {
    const found = shown({ progress: [{ round: 1, relevant: 73.8, low: 61.2, high: 90 }], outlook: 0.124 });
    expect(found.relevant).toBe("Expected in all 74 61 to 90");
    expect(found.outlook).toBe("One more round is likely to change 12 %");
    expect(found.meter).toBe("12 %");
  });

  it("shows rounds that an older version noted, without intervals", () => {
    const progress = [
      { round: 1, relevant: 1200.4, low: null, high: null },
      { round: 2, relevant: 74, low: 61, high: 90 },
    ];
    expect(shown({ progress, outlook: null }).line).toBe("Pictures expected to match, round by round: 1,200; 74, between 61 and 90");
  });
});
