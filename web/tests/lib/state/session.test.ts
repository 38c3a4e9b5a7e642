import { beforeEach, describe, expect, it, vi } from "vitest";
import { connection } from "../../../src/lib/server/connection.svelte";
import { Session } from "../../../src/lib/state/session.svelte";
import { toasts } from "../../../src/lib/state/toasts.svelte";
import type { SearchState } from "../../../src/lib/server/types";

interface Sent {
  path: string;
  body: { revision: number; key: string; answers: Record<string, string>; alone: boolean };
}

/** A server with one search: every change makes a revision, whose batch is `batches[revision]`. */
function server(batches: number[][]) {
  const sent: Sent[] = [];
  const world = { revision: 0, away: false, refuse: false, gone: false, slow: false, learnt: Promise.resolve(), sent };
  const state = (): Partial<SearchState> => ({
    id: "s",
    revision: world.revision,
    rounds: world.revision,
    can_undo: world.revision > 0,
    batch: (batches[world.revision] ?? []).map((id) => ({ id, name: `${id}.jpg` })),
  });
  const json = (status: number, body: unknown) => new Response(JSON.stringify(body), { status });
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (world.away) return Promise.reject(new TypeError("away"));
    if (world.gone) return Promise.resolve(json(404, { detail: "no such search" }));
    if (init.method === "GET") return world.learnt.then(() => json(200, { ...state(), learning: false, counted: true }));
    const body = JSON.parse(String(init.body)) as Sent["body"];
    sent.push({ path, body });
    if (world.refuse) return Promise.resolve(json(422, { detail: "no" }));
    if (body.revision !== world.revision) return Promise.resolve(json(409, { detail: "moved", state: state() }));
    world.revision++;
    return Promise.resolve(json(200, { ...state(), ...(world.slow ? { learning: true, batch: [] } : { learning: false }), counted: false }));
  });
  return world;
}

let number = 0;
async function opened(): Promise<Session> {
  const session = Session.of(`s${++number}`);
  await session.open();
  return session;
}

beforeEach(() => localStorage.clear());

/** What the store has of the changes on their way. */
function kept(search: string): string {
  const keys = Object.keys(localStorage).filter((key) => key.startsWith(`ital.outbox.${search}.`));
  return keys.map((key) => localStorage.getItem(key)).join();
}

describe("Session", () => {
  it("sends a round when its last picture is answered, and takes the next batch", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.answer(1, "yes");
    expect(world.sent).toHaveLength(0);
    session.answer(2, "unsure");
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(world.sent[0]?.body.answers).toEqual({ "1": "yes", "2": "unsure" });
    expect(session.draft.size).toBe(0);
    expect(session.pending.size).toBe(0);
  });

  it("sends what is answered of the batch along with any other picture", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.answer(1, "yes");
    session.label(99, "no");
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(world.sent[0]?.body.answers).toEqual({ "1": "yes", "99": "no" });
  });

  it("sends what is said of many pictures in one change", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.answer(1, "yes");
    session.labelAll([97, 98, 99], "no");
    expect(session.said).toEqual(new Map([[1, "yes"], [97, "no"], [98, "no"], [99, "no"]]));
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(world.sent).toHaveLength(1);
    expect(world.sent[0]?.body.answers).toEqual({ "1": "yes", "97": "no", "98": "no", "99": "no" });
  });

  it("keeps what it shows while the server learns what it has taken, and takes the next batch then", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    let learn = () => {};
    Object.assign(world, { slow: true, learnt: new Promise<void>((resolve) => (learn = resolve)) });
    session.labelAll([97, 98, 99], "no");
    await vi.waitFor(() => expect(session.state?.learning).toBe(true));
    // It is on the server's disk, so that nothing is left to keep here.
    expect([session.waiting, kept(session.id)]).toEqual([0, ""]);
    expect([session.state?.revision, session.canUndo]).toEqual([1, true]);
    expect(session.state?.batch.map(({ id }) => id)).toEqual([1, 2]);
    learn();
    await vi.waitFor(() => expect(session.state?.learning).toBe(false));
    expect(session.state?.batch.map(({ id }) => id)).toEqual([3, 4]);
    expect(session.news).toBe("Round 2: 2 pictures to answer.");
  });

  it("asks the next questions at once, and keeps its figures until the server has counted", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    const before = { progress: [{ round: 1, relevant: 7, low: 5, high: 9 }], outlook: 0.5, summary: "About 7 pictures match." };
    session.state = { ...session.state!, ...before };
    let count = () => {};
    world.learnt = new Promise<void>((resolve) => (count = resolve));
    session.labelAll([1, 2], "no");
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(session.state?.counted).toBe(false);
    expect(session.state?.batch.map(({ id }) => id)).toEqual([3, 4]);
    expect(session.state).toMatchObject(before);
    const { news } = session;
    expect(news).toBe("Round 2: 2 pictures to answer.");
    count();
    await vi.waitFor(() => expect(session.state?.counted).toBe(true));
    expect(session.state?.summary).toBeUndefined();
    expect(session.news).toBe(news);
  });

  it("shows the latest of what is learnt, whatever comes last", async () => {
    const world = server([[1, 2], [3, 4], [5, 6]]);
    const session = await opened();
    let learn = () => {};
    Object.assign(world, { slow: true, learnt: new Promise<void>((resolve) => (learn = resolve)) });
    session.labelAll([97, 98, 99], "no");
    await vi.waitFor(() => expect(session.state?.learning).toBe(true));
    session.undo();
    await vi.waitFor(() => expect(session.state?.revision).toBe(2));
    world.revision = 1;
    learn();
    await vi.waitFor(() => expect(session.news).toBe("Taken back."));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect([session.state?.revision, session.state?.learning]).toEqual([2, true]);
    world.revision = 2;
    await session.look();
    expect(session.state?.batch.map(({ id }) => id)).toEqual([5, 6]);
  });

  it("says something of one picture of a stack alone, after what was answered before", async () => {
    const world = server([[5, 6], [7], [8]]);
    const session = await opened();
    session.answer(6, "yes");
    session.labelAlone(2, "no");
    await vi.waitFor(() => expect(session.state?.revision).toBe(2));
    expect(world.sent.map(({ body }) => [body.answers, body.alone ?? false])).toEqual([
      [{ 6: "yes" }, false],
      [{ 2: "no" }, true],
    ]);
  });

  it("takes back unsent answers before rounds", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.answer(1, "yes");
    session.undo();
    expect(session.draft.size).toBe(0);
    expect(world.sent).toHaveLength(0);
  });

  it("sends answers to pictures that the batch no longer holds after another tab has moved on", async () => {
    const world = server([[1, 2], [3, 4], [5, 6]]);
    const session = await opened();
    session.answer(1, "yes");
    world.revision = 1;
    await session.look();
    await vi.waitFor(() => expect(session.state?.revision).toBe(2));
    expect(world.sent[0]?.body.answers).toEqual({ "1": "yes" });
  });

  it("puts answers back on the cards if they are refused", async () => {
    const world = server([[1, 2]]);
    const session = await opened();
    world.refuse = true;
    session.answer(1, "yes");
    session.answer(2, "no");
    await vi.waitFor(() => expect(session.waiting).toBe(0));
    expect([...session.draft]).toEqual([
      [1, "yes"],
      [2, "no"],
    ]);
  });

  it("takes no second answer while the first is on its way", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.answer(1, "yes");
    for (let press = 0; press < 3; press++) session.answer(2, "yes");
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(world.sent).toHaveLength(1);
    expect(session.draft.size).toBe(0);
  });

  it("can undo a first round that is still on its way", async () => {
    const world = server([[1, 2], [3, 4], [1, 2]]);
    const session = await opened();
    expect(session.canUndo).toBe(false);
    session.answer(1, "yes");
    session.answer(2, "no");
    expect(session.canUndo).toBe(true);
    session.undo();
    session.undo();
    await vi.waitFor(() => expect(session.waiting).toBe(0));
    expect(world.sent.map(({ path }) => path.split("/").at(-1))).toEqual(["answers", "undo"]);
  });

  it("shows a mark until results come that know of it, and not if it is refused", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    session.label(98, "yes");
    await vi.waitFor(() => expect(session.waiting).toBe(0));
    expect(session.said.get(98)).toBe("yes");
    session.settle();
    expect(session.said.size).toBe(0);
    world.refuse = true;
    session.label(99, "no");
    expect(session.said.get(99)).toBe("no");
    await vi.waitFor(() => expect(session.waiting).toBe(0));
    expect(session.said.size).toBe(0);
    expect(toasts.list.at(-1)?.text).toBe("1 picture could not be marked. No");
  });

  it("is there again after it was gone", async () => {
    const world = server([[1, 2]]);
    const session = await opened();
    world.gone = true;
    await session.look();
    expect(session.error).toContain("does not exist");
    world.gone = false;
    await session.open();
    expect(session.error).toBe("");
  });

  it("keeps answers on the page and in the store while the server is away, and sends them once", async () => {
    const world = server([[1, 2], [3, 4]]);
    const session = await opened();
    world.away = true;
    session.answer(1, "yes");
    session.answer(2, "no");
    await vi.waitFor(() => expect(connection.away).toBe(true));
    expect(session.pending.get(1)).toBe("yes");
    expect(kept(session.id)).toContain('"1":"yes"');
    world.away = false;
    connection.nudge();
    await vi.waitFor(() => expect(session.state?.revision).toBe(1));
    expect(connection.away).toBe(false);
    expect(world.sent).toHaveLength(1);
    expect(kept(session.id)).toBe("");
  });

  it("leaves alone what another tab keeps of the same search", async () => {
    server([[1, 2]]);
    const id = `s${number + 1}`;
    const session = await opened();
    expect(session.id).toBe(id);
    localStorage.setItem(`ital.draft.${id}`, '[[1,"yes"]]');
    localStorage.setItem(`ital.outbox.${id}.other`, "{}");
    await session.look();
    expect(localStorage).toHaveLength(2);
  });

  it("sends what was on its way before a reload, under its key", async () => {
    const world = server([[1, 2], [3, 4]]);
    const sealed = { change: { kind: "answers", answers: { "1": "yes" } }, key: "kept", revision: 0 };
    localStorage.setItem("ital.outbox.left.kept", JSON.stringify(sealed));
    await Session.of("left").open();
    await vi.waitFor(() => expect(Session.of("left").state?.revision).toBe(1));
    expect(world.sent.map(({ body }) => body.key)).toEqual(["kept"]);
    expect(localStorage).toHaveLength(0);
  });

  it("finds what was answered before a reload", async () => {
    server([[1, 2]]);
    const session = await opened();
    session.answer(1, "yes");
    localStorage.setItem("ital.draft.again", localStorage.getItem(`ital.draft.${session.id}`)!);
    const again = Session.of("again");
    await again.open();
    expect([...again.draft]).toEqual([[1, "yes"]]);
  });

  it("keeps the threshold that was chosen for a search, over a reload, and no other's", async () => {
    server([[1, 2]]);
    const session = await opened();
    expect(session.threshold).toBeNull();
    session.choose(0.7);
    expect(session.threshold).toBe(0.7);
    expect((await opened()).threshold).toBeNull();
    sessionStorage.setItem("ital.threshold.later", sessionStorage.getItem(`ital.threshold.${session.id}`)!);
    expect(Session.of("later").threshold).toBe(0.7);
  });
});
