import { describe, expect, it, vi } from "vitest";
import { MovedOn, Refused, Unreachable } from "../../../src/lib/server/http";
import { Outbox, type OutboxHost, type Sealed } from "../../../src/lib/server/outbox";
import { backoff } from "../../../src/lib/server/retry";
import type { SearchState } from "../../../src/lib/server/types";

const at = (revision: number) => ({ revision }) as SearchState;

/** A page whose server answers as told, one answer for each request. */
function page(replies: (SearchState | Error)[]) {
  const sent: { key: string; revision: number; kind: string }[] = [];
  let revision = 5;
  const host: OutboxHost = {
    lost: vi.fn(),
    found: vi.fn(),
    wait: vi.fn(() => Promise.resolve()),
    revision: () => revision,
    post: ({ key, revision, change }) => {
      sent.push({ key, revision, kind: change.kind });
      const reply = replies.shift() ?? new Refused(500, "too many requests for this test");
      return reply instanceof Error ? Promise.reject(reply) : Promise.resolve(reply);
    },
    arrived: vi.fn((state: SearchState) => void (revision = state.revision)),
    movedOn: vi.fn((state: SearchState) => void (revision = state.revision)),
    refused: vi.fn(),
    changed: vi.fn(),
  };
  return { host, sent };
}

const yes = { kind: "answers", answers: { "1": "yes" } } as const;

describe("Outbox", () => {
  it("repeats a change with the same key and revision until the server is back", async () => {
    const away = new Unreachable("away");
    const { host, sent } = page([away, away, away, at(6)]);
    const outbox = new Outbox(host);
    outbox.push(yes);
    await vi.waitFor(() => expect(host.arrived).toHaveBeenCalledOnce());
    expect(sent).toHaveLength(4);
    expect(new Set(sent.map(({ key, revision }) => `${key} ${revision}`)).size).toBe(1);
    expect(host.lost).toHaveBeenCalledTimes(3);
    expect(host.found).toHaveBeenCalledOnce();
    expect(outbox.queue).toHaveLength(0);
  });

  it("sends one change after the other, each on the revision that the one before it made", async () => {
    const { host, sent } = page([at(6), at(7)]);
    const outbox = new Outbox(host);
    outbox.push(yes);
    outbox.push({ kind: "undo" });
    await vi.waitFor(() => expect(host.arrived).toHaveBeenCalledTimes(2));
    expect(sent.map(({ revision, kind }) => [revision, kind])).toEqual([
      [5, "answers"],
      [6, "undo"],
    ]);
    expect(sent[0]?.key).not.toBe(sent[1]?.key);
  });

  it("keeps answers when the search moved on, under a new key", async () => {
    const { host, sent } = page([new MovedOn("moved", at(9)), at(10)]);
    new Outbox(host).push(yes);
    await vi.waitFor(() => expect(host.arrived).toHaveBeenCalledOnce());
    expect(sent.map(({ revision }) => revision)).toEqual([5, 9]);
    expect(sent[0]?.key).not.toBe(sent[1]?.key);
    expect(host.movedOn).toHaveBeenCalledWith(at(9), true);
  });

  it("does not undo what another tab has done", async () => {
    const { host, sent } = page([new MovedOn("moved", at(9))]);
    new Outbox(host).push({ kind: "undo" });
    await vi.waitFor(() => expect(host.movedOn).toHaveBeenCalledWith(at(9), false));
    expect(sent).toHaveLength(1);
  });

  it("tells of a refusal and goes on with the next change", async () => {
    const { host } = page([new Refused(422, "no"), at(6)]);
    const outbox = new Outbox(host);
    outbox.push(yes);
    outbox.push(yes);
    await vi.waitFor(() => expect(host.arrived).toHaveBeenCalledOnce());
    expect(host.refused).toHaveBeenCalledOnce();
  });

  it("does not undo something else if what was to be undone is refused", async () => {
    const { host, sent } = page([new Refused(422, "no"), at(6)]);
    const outbox = new Outbox(host);
    outbox.push(yes);
    outbox.push({ kind: "undo" });
    outbox.push(yes);
    await vi.waitFor(() => expect(host.arrived).toHaveBeenCalledOnce());
    expect(sent.map(({ kind }) => kind)).toEqual(["answers", "answers"]);
  });

  it("sends again what a reload interrupted, as it was", async () => {
    const { host, sent } = page([at(6)]);
    const kept: Sealed = { change: yes, key: "kept-key", revision: 4 };
    await new Outbox(host, [kept]).run();
    expect(sent).toEqual([{ key: "kept-key", revision: 4, kind: "answers" }]);
  });
});

describe("backoff", () => {
  it("waits longer each time, up to a limit", () => {
    expect([0, 1, 2, 20].map(backoff)).toEqual([400, 800, 1600, 8000]);
  });
});
