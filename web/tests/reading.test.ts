import { describe, expect, it } from "vitest";
import { Reading } from "../src/lib/reading.svelte";

/** Promises that are kept when the test says so. */
function later<T>() {
  let resolve!: (value: T) => void;
  let reject!: (reason: Error) => void;
  const promise = new Promise<T>((yes, no) => ([resolve, reject] = [yes, no]));
  return { promise, resolve, reject };
}

describe("Reading", () => {
  it("does not take an older answer that comes after a newer one", async () => {
    const reading = new Reading<number>();
    const [old, fresh] = [later<number>(), later<number>()];
    reading.take(old.promise)();
    reading.take(fresh.promise);
    fresh.resolve(2);
    old.resolve(1);
    await Promise.all([old.promise, fresh.promise]);
    expect(reading.value).toBe(2);
  });

  it("forgets what went wrong once it goes well", async () => {
    const reading = new Reading<number>();
    const failing = later<number>();
    reading.take(failing.promise);
    failing.reject(new Error("no such search"));
    await expect(failing.promise).rejects.toThrow();
    expect(reading.error).toBe("No such search");
    const going = Promise.resolve(3);
    reading.take(going);
    await going;
    expect([reading.value, reading.error]).toEqual([3, ""]);
  });
});
