import { beforeEach, describe, expect, it, vi } from "vitest";
import { Session } from "../../../src/lib/state/session.svelte";
import type { Answer } from "../../../src/lib/server/types";

interface Sent {
  path: string;
  body: { revision: number; answers?: Record<string, Answer>; planned?: number };
}

/** A server with one search, whose audit draws 1, 2, 3 and so on, three at a time. */
function server() {
  const sent: Sent[] = [];
  const world = { revision: 0, audit: false, planned: 0, rounds: [] as Record<string, Answer>[], refuse: false, sent };
  const search = () => ({ id: "s", revision: world.revision, rounds: 0, batch: [], audit: world.audit });
  const audit = () => {
    const said = Object.entries(Object.assign({}, ...world.rounds) as Record<string, Answer>).map(([id, label]) => ({ id: Number(id), label }));
    const left = [1, 2, 3, 4, 5, 6, 7, 8, 9].filter((id) => !said.some((one) => one.id === id));
    return {
      revision: world.revision,
      planned: world.planned,
      said,
      can_undo: world.rounds.length > 0,
      batch: left.slice(0, 3).map((id) => ({ id, name: `${id}.jpg` })),
    };
  };
  const json = (status: number, body: unknown) => Promise.resolve(new Response(JSON.stringify(body), { status }));
  vi.stubGlobal("fetch", (path: string, init: RequestInit) => {
    if (init.method === "GET") return path.endsWith("/audit") ? json(200, audit()) : json(200, search());
    const body = JSON.parse(String(init.body)) as Sent["body"];
    sent.push({ path: path.replace(/.*\/searches\/[^/]*\//, ""), body });
    if (world.refuse) return json(400, { detail: "not drawn" });
    if (body.revision !== world.revision) return json(409, { detail: "moved", state: search() });
    world.revision++;
    if (body.planned) Object.assign(world, { audit: true, planned: body.planned, rounds: [] });
    if (path.endsWith("/end")) world.audit = false;
    if (path.endsWith("/undo")) world.rounds.pop();
    if (body.answers) world.rounds.push(body.answers);
    return json(200, /audit(\/answers)?$/.test(path) ? audit() : search());
  });
  return world;
}

let number = 0;
async function begun(planned: number) {
  const session = Session.of(`audited${++number}`);
  await session.open();
  session.audit.begin(0.4, planned);
  await vi.waitFor(() => expect(session.waiting).toBe(0));
  return session.audit;
}

const idle = (audit: Session["audit"]) => vi.waitFor(() => expect(audit.waiting).toBe(0));
const asked = (audit: Session["audit"]) => audit.batch.map(({ id }) => id);

beforeEach(() => localStorage.clear());

describe("Audit", () => {
  it("asks no more than was planned, until more is wanted", async () => {
    const world = server();
    const audit = await begun(5);
    expect(world.sent[0]).toEqual({ path: "audit", body: expect.objectContaining({ threshold: 0.4, planned: 5 }) as object });
    expect(asked(audit)).toEqual([1, 2, 3]);
    for (const id of [1, 2, 3]) audit.answer(id, "yes");
    expect(audit.seen).toBe(3);
    await idle(audit);
    expect(world.sent[1]).toMatchObject({ path: "audit/answers", body: { answers: { "1": "yes", "2": "yes", "3": "yes" } } });
    expect(asked(audit)).toEqual([4, 5]);
    for (const id of [4, 5]) audit.answer(id, "no");
    await idle(audit);
    expect([asked(audit), audit.seen]).toEqual([[], 5]);
    audit.beyond = true;
    expect(asked(audit)).toEqual([6, 7, 8]);
  });

  it("takes back answers on the cards first, then those that were sent", async () => {
    const world = server();
    const audit = await begun(9);
    expect(audit.canUndo).toBe(false);
    for (const id of [1, 2, 3, 4]) audit.answer(id, "no");
    await idle(audit);
    audit.answer(4, "yes");
    audit.undo();
    expect([audit.draft.size, world.rounds.length]).toEqual([0, 1]);
    audit.undo();
    await idle(audit);
    await audit.read();
    expect([world.sent.at(-1)?.path, asked(audit), audit.seen]).toEqual(["undo", [1, 2, 3], 0]);
  });

  it("keeps what is not sent over a reload, if it is still asked", async () => {
    const world = server();
    const audit = await begun(9);
    audit.answer(2, "unsure");
    const { Session: Reloaded } = await (vi.resetModules(), import("../../../src/lib/state/session.svelte"));
    const session = Reloaded.of(audit.host.id);
    await session.open();
    await session.audit.read();
    expect([...session.audit.draft]).toEqual([[2, "unsure"]]);
    world.rounds.push({ "2": "yes" });
    world.revision++;
    await session.look();
    await session.audit.read();
    expect([session.audit.draft.size, asked(session.audit)]).toEqual([0, [1, 3, 4]]);
  });

  it("puts refused answers back on the cards", async () => {
    const world = server();
    const audit = await begun(9);
    world.refuse = true;
    for (const id of [1, 2, 3]) audit.answer(id, "yes");
    await idle(audit);
    await audit.read();
    expect([audit.draft.size, asked(audit)]).toEqual([3, [1, 2, 3]]);
  });

  it("is forgotten when it ends", async () => {
    const world = server();
    const audit = await begun(9);
    audit.answer(1, "yes");
    audit.end();
    await idle(audit);
    await audit.read();
    expect([world.audit, audit.state, audit.draft.size]).toEqual([false, null, 0]);
  });
});
