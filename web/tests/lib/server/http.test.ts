import { afterEach, describe, expect, it, vi } from "vitest";
import { MovedOn, Refused, request, Unreachable } from "../../../src/lib/server/http";

afterEach(() => vi.unstubAllGlobals());

function answering(status: number, body: string) {
  vi.stubGlobal("fetch", () => Promise.resolve(new Response(status === 204 ? null : body, { status })));
}

describe("request", () => {
  it("gives what the server answers", async () => {
    answering(200, '{"id": 3}');
    expect(await request("GET", "/x")).toEqual({ id: 3 });
    answering(204, "");
    expect(await request("DELETE", "/x")).toBeUndefined();
  });

  it("tells apart a refusal, a conflict and a server that is away", async () => {
    answering(422, '{"detail": "no such picture"}');
    await expect(request("GET", "/x")).rejects.toThrow("no such picture");
    answering(422, '{"detail": [{"msg": "a list"}]}');
    await expect(request("GET", "/x")).rejects.toBeInstanceOf(Refused);
    answering(409, '{"detail": "moved", "state": {"revision": 7}}');
    await expect(request("POST", "/x")).rejects.toBeInstanceOf(MovedOn);
    answering(503, "away");
    await expect(request("GET", "/x")).rejects.toBeInstanceOf(Unreachable);
    answering(200, '{"cut of');
    await expect(request("GET", "/x")).rejects.toBeInstanceOf(Unreachable);
    vi.stubGlobal("fetch", () => Promise.reject(new TypeError("network")));
    await expect(request("GET", "/x")).rejects.toBeInstanceOf(Unreachable);
  });
});
