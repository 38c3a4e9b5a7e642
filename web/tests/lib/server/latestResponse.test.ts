import { describe, expect, it } from "vitest";
import { LatestResponse } from "../../../src/lib/server/latestResponse.svelte";

/** Promises that are kept when the test says so. */
function later<T>() {
  let resolve!: (value: T) => void;
  const promise = new Promise<T>((done) => (resolve = done));
  return { promise, resolve };
}

describe("LatestResponse", () => {
  it("does not take an older answer that comes after a newer one", async () => {
    const reading = new LatestResponse<number>();
    const [old, fresh] = [later<number>(), later<number>()];
    const both = [reading.take(old.promise), reading.take(fresh.promise)];
    fresh.resolve(2);
    old.resolve(1);
    await Promise.all(both);
    expect(reading.value).toBe(2);
  });

  it("forgets what went wrong once it goes well", async () => {
    const reading = new LatestResponse<number>();
    await reading.take(Promise.reject(new Error("no such search")));
    expect(reading.error).toBe("No such search");
    await reading.take(Promise.resolve(3));
    expect([reading.value, reading.error]).toEqual([3, ""]);
  });
});
