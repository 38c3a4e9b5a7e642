/** A search that is open: where it stands, what was answered, and what is on its way. */
import { api } from "../server/api";
import { connection } from "../server/connection.svelte";
import { messageOf, pictures } from "../text/format";
import { Refused, request } from "../server/http";
import { load, store } from "../storage/browserStorage";
import { draftOf, keepDraft, KeptChanges } from "../storage/unsentAnswers";
import { Audit, type AuditHost } from "./audit.svelte";
import { freshSearch } from "./freshSearch";
import { Outbox, type Change, type OutboxHost, type Sealed } from "../server/outbox";
import * as drafts from "./answerDraft";
import { toasts } from "./toasts.svelte";
import type { Answer, AuditState, SearchState, Settings } from "../server/types";

const thresholdKey = (search: string) => `ital.threshold.${search}`;

export class Session implements OutboxHost, AuditHost, drafts.Answering {
  state = $state.raw<SearchState | null>(null);
  error = $state("");
  draft = $state.raw<drafts.Draft>(drafts.EMPTY);
  /** Answers on their way, shown as if they had arrived. */
  pending = $state.raw<ReadonlyMap<number, Answer>>(new Map());
  /** What was said of pictures, until the results that are shown were ranked with it. */
  said = $state.raw<ReadonlyMap<number, Answer>>(new Map());
  /** How many changes are on their way. */
  waiting = $state(0);
  /** The least probability of results, where a person has chosen it. */
  threshold = $state.raw<number | null>(null);
  /** What a screen reader says of the latest change. */
  news = $state("");
  readonly audit: Audit;
  /** Whether the change that was made last is a round on its way: it can be undone, too. */
  #roundLast = $state(false);
  #kept: KeptChanges;
  #outbox: Outbox;

  /** One for each search: what it knows is shown at once when it is opened again, and what it sends is sent once. */
  static #all = new Map<string, Session>();

  static of(id: string): Session {
    const session = Session.#all.get(id) ?? new Session(id);
    Session.#all.set(id, session);
    return session;
  }

  private constructor(readonly id: string) {
    this.#kept = new KeptChanges(id);
    this.#outbox = new Outbox(this, this.#kept.restore());
    this.audit = new Audit(this);
    this.draft = draftOf(id);
    this.threshold = load<number>(thresholdKey(id), "sessionStorage");
  }

  /** Whether the server has taken answers that it has yet to learn. */
  get learning(): boolean {
    return this.state?.learning ?? false;
  }

  async open(): Promise<void> {
    if (this.state) return this.look();
    try {
      this.#take(freshSearch.take(this.id) ?? (await api.search(this.id)));
      this.error = "";
    } catch (error) {
      this.#failed(error);
      return;
    }
    this.changed(this.#outbox.queue);
    void this.#outbox.run();
  }

  /** See whether another tab has changed the search. */
  async look(): Promise<void> {
    if (!this.state || this.#outbox.queue.length) return;
    try {
      const state = await api.search(this.id);
      this.error = "";
      // An answer to an earlier question may come last.
      const ahead = state.revision - this.state.revision;
      if (!this.#outbox.queue.length && (ahead > 0 || (ahead === 0 && !this.state.counted))) this.#take(state);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Answer a picture of the batch; the last one sends the drafts. */
  answer(id: number, answer: Answer): void {
    if (this.pending.has(id)) return;
    this.#setDraft(drafts.withAnswer(this.draft, id, answer));
    if (this.state && drafts.isComplete(this.draft, this.state.batch)) this.send();
  }

  clear(id: number): void {
    this.#setDraft(drafts.without(this.draft, id));
  }

  /** Send what is answered. */
  send(): void {
    if (this.draft.size) this.#send(this.draft);
  }

  /**
   * Say something of any picture, at once. What is answered of the batch goes with it: the next batch
   * may ask about other pictures.
   */
  label(id: number, answer: Answer): void {
    this.labelAll([id], answer);
  }

  /** Say something of one picture of a stack, and not of the others. What was answered before goes before it. */
  labelAlone(id: number, answer: Answer): void {
    this.send();
    this.said = new Map([...this.said, [id, answer]]);
    this.#outbox.push({ kind: "answers", answers: { [id]: answer }, alone: true });
  }

  /** Say the same of many pictures, in one change. */
  labelAll(ids: Iterable<number>, answer: Answer): void {
    const given = new Map([...this.draft, ...[...ids].map((id) => [id, answer] as const)]);
    this.said = new Map([...this.said, ...given]);
    this.#send(given);
  }

  /** Learn what a file says of pictures, in one change. */
  bring(file: File): void {
    this.#outbox.push({ kind: "labels", file });
  }

  /** The results that are shown know all that was said. */
  settle(): void {
    if (this.said.size) this.said = new Map();
  }

  choose(threshold: number): void {
    this.threshold = threshold;
    store(thresholdKey(this.id), threshold, "sessionStorage");
  }

  get canUndo(): boolean {
    return this.draft.size > 0 || this.#roundLast || (this.state?.can_undo ?? false);
  }

  get canRedo(): boolean {
    return this.state?.can_redo ?? false;
  }

  undo(): void {
    if (this.draft.size) this.#setDraft(drafts.withoutLast(this.draft));
    else if (this.canUndo) this.#outbox.push({ kind: "undo" });
  }

  redo(): void {
    if (this.state?.can_redo) this.#outbox.push({ kind: "redo" });
  }

  change(settings: Settings): void {
    this.#outbox.push({ kind: "settings", settings });
  }

  push(change: Change): void {
    this.#outbox.push(change);
  }

  async rename(name: string): Promise<void> {
    const before = this.state;
    if (!before || !name || name === before.name) return;
    this.state = { ...before, name };
    try {
      const info = await api.rename(this.id, name);
      if (this.state) this.state = { ...this.state, name: info.name };
    } catch (error) {
      if (this.state) this.state = { ...this.state, name: before.name };
      toasts.error(error, "The name was not changed.");
    }
  }

  // What the outbox asks of its host.

  lost = () => connection.lost();
  found = () => connection.found();
  wait = (ms: number) => connection.wait(ms);
  revision = () => this.state?.revision ?? 0;

  async post(sealed: Sealed & { revision: number }): Promise<SearchState> {
    const { key, revision } = sealed;
    const { kind, ...content } = sealed.change;
    const base = `/searches/${encodeURIComponent(this.id)}`;
    const path = `${base}/${kind}`;
    const body = { revision, key, ...content };
    if ("file" in content) {
      const query = new URLSearchParams({ name: content.file.name, revision: `${revision}`, key });
      return request("POST", `${path}?${query}`, content.file);
    }
    if (kind === "settings") return request("PUT", path, body);
    if (kind !== "audit" && kind !== "audit/answers") return request("POST", path, body);
    this.audit.take(await request<AuditState>("POST", path, body));
    return request("GET", base);
  }

  arrived(state: SearchState, change: Change): void {
    // What is shown stays until the server has learnt what it has taken, and figures until it has counted.
    if (!state.counted && this.state) {
      const { progress, outlook, summary } = this.state;
      const batch = state.learning ? this.state.batch : state.batch;
      this.#take({ ...state, batch, progress, outlook, summary });
      this.#catchUp();
    } else this.#take(state);
    if (change.kind === "labels") toasts.show(`What ${change.file.name} says ${state.learning ? "is being" : "was"} learnt.`);
    if (change.kind === "undo") this.news = "Taken back.";
    if (change.kind === "redo") this.news = "Done again.";
  }

  movedOn(state: SearchState, kept: boolean): void {
    this.#take(state);
    toasts.show(`This search moved on in another tab.${kept ? " Your answers were kept." : ""}`);
  }

  refused(error: unknown, change: Change): void {
    if (change.kind.startsWith("audit")) this.audit.refused(change);
    if (change.kind === "audit/answers") return toasts.error(error, "Your answers were not accepted.");
    if (change.kind !== "answers") return toasts.error(error);
    const refused = drafts.fromAnswers(change.answers);
    const { kept, orphans } = drafts.divide(refused, this.state?.batch ?? []);
    toasts.error(error, orphans.size ? `${pictures(orphans.size)} could not be marked.` : "Your answers were not accepted.");
    this.said = new Map([...this.said].filter(([id]) => !refused.has(id)));
    // Back to the cards, to be sent again or changed.
    this.#setDraft(new Map([...kept, ...this.draft]));
  }

  changed(queue: readonly Sealed[]): void {
    const answers = queue.filter((sealed) => "answers" in sealed.change);
    this.#kept.keep(answers);
    this.waiting = queue.length;
    const last = queue.at(-1)?.change;
    this.#roundLast = last !== undefined && ("answers" in last || last.kind === "labels");
    this.pending = new Map(
      answers.flatMap(({ change }) => ("answers" in change ? [...drafts.fromAnswers(change.answers)] : [])),
    );
    this.#catchUp();
  }

  /** Ask for what the server learns and counts, unless the answer to a change that is on its way will tell. */
  #catchUp(): void {
    if (this.state && !this.state.counted) void this.look();
  }

  #failed(error: unknown): void {
    const gone = error instanceof Refused && error.status === 404;
    if (gone) this.error = "This search does not exist any more.";
    else if (!this.state) this.error = messageOf(error);
  }

  #send(answers: drafts.Draft): void {
    this.#setDraft(drafts.EMPTY);
    this.#outbox.push({ kind: "answers", answers: drafts.toAnswers(answers) });
  }

  #setDraft(draft: drafts.Draft): void {
    // An empty draft that was empty before is not stored: it would overwrite what another tab keeps of this search.
    if (draft.size === 0 && this.draft.size === 0) return;
    this.draft = draft;
    keepDraft(this.id, draft);
  }

  #take(state: SearchState): void {
    const before = this.state;
    this.state = state;
    if (before && !state.learning && (before.learning || before.revision !== state.revision)) {
      this.news = state.batch.length
        ? `Round ${state.rounds + 1}: ${state.batch.length} pictures to answer.`
        : "Nothing is left to ask.";
    }
    const { kept, orphans } = drafts.divide(this.draft, state.batch);
    this.#setDraft(kept);
    if (orphans.size) this.#outbox.push({ kind: "answers", answers: drafts.toAnswers(orphans) });
  }
}
