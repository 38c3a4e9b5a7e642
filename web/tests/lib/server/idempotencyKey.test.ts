import { afterEach, describe, expect, it, vi } from "vitest";
import { freshKey } from "../../../src/lib/server/idempotencyKey";

afterEach(() => vi.unstubAllGlobals());

describe("freshKey", () => {
  it("is fresh, and of characters the server takes, with or without a secure context", () => {
    expect(freshKey()).not.toBe(freshKey());
    vi.stubGlobal("crypto", { getRandomValues: crypto.getRandomValues.bind(crypto) });
    expect(freshKey()).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(freshKey()).not.toBe(freshKey());
  });
});
