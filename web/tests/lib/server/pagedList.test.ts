import { describe, expect, it, vi } from "vitest";
import { PAGE, PagedList } from "../../../src/lib/server/pagedList";

function numbers(fail = false) {
  const fetch = vi.fn((offset: number, limit: number) =>
    fail ? Promise.reject(new Error("no")) : Promise.resolve(Array.from({ length: limit }, (_, i) => offset + i)),
  );
  return { fetch, pages: new PagedList<number>(fetch, () => undefined) };
}

describe("PagedList", () => {
  it("fetches the pages that are looked at, once", async () => {
    const { fetch, pages } = numbers();
    pages.want(PAGE - 5, PAGE + 5);
    pages.want(PAGE - 5, PAGE + 5);
    await vi.waitFor(() => expect(pages.get(PAGE + 4)).toBe(PAGE + 4));
    expect(pages.get(PAGE - 1)).toBe(PAGE - 1);
    pages.want(0, 10);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("forgets what was only passed by, and holds so many pages at most", async () => {
    const { fetch, pages } = numbers();
    for (let page = 0; page < 500; page++) pages.want(page * PAGE, page * PAGE + 10);
    await vi.waitFor(() => expect(pages.get(499 * PAGE)).toBe(499 * PAGE));
    expect(fetch.mock.calls.length).toBeLessThan(10);
    for (let page = 0; page < 100; page++) await pages.load(page * PAGE, page * PAGE + 1);
    expect(pages.get(0)).toBeUndefined();
    expect(pages.get(99 * PAGE)).toBe(99 * PAGE);
  });

  it("does not ask again for what failed, until told", async () => {
    const { fetch, pages } = numbers(true);
    pages.want(0, 10);
    await vi.waitFor(() => expect(pages.failedAt(3)).toBe(true));
    pages.want(0, 10);
    expect(fetch).toHaveBeenCalledOnce();
    pages.retry();
    pages.want(0, 10);
    expect(fetch).toHaveBeenCalledTimes(2);
  });

  it("loads all pages of a range", async () => {
    const { pages } = numbers();
    await pages.load(PAGE - 1, 2 * PAGE + 1);
    expect([PAGE - 1, PAGE, 2 * PAGE].map((index) => pages.get(index))).toEqual([PAGE - 1, PAGE, 2 * PAGE]);
  });

  it("gives all items of a range, of which only missing pages are fetched", async () => {
    const { fetch, pages } = numbers();
    await pages.load(0, 1);
    expect(await pages.between(PAGE - 1, PAGE + 2)).toEqual([PAGE - 1, PAGE, PAGE + 1]);
    expect(fetch).toHaveBeenCalledTimes(2);
    expect(await numbers(true).pages.between(0, 3)).toEqual([]);
  });

  it("finds something among what it holds", async () => {
    const { pages } = numbers();
    await pages.load(PAGE, PAGE + 1);
    expect([PAGE + 7, 3].map((item) => pages.indexOf((other) => other === item))).toEqual([PAGE + 7, -1]);
  });
});
