/** The audit of a search that is open: what it has found, what it asks, and what is answered of that. */
import { api } from "../server/api";
import type { Change } from "../server/outbox";
import type { Answer, AuditState, Picture, SearchState } from "../server/types";
import { draftOf, keepDraft } from "../storage/unsentAnswers";
import { messageOf } from "../text/format";
import * as drafts from "./answerDraft";

/** The search that is audited. */
export interface AuditHost {
  readonly id: string;
  readonly state: SearchState | null;
  readonly pending: drafts.Draft;
  readonly waiting: number;
  push(change: Change): void;
}

const draftName = (search: string) => `${search}.audit`;

export class Audit implements drafts.Answering {
  state = $state.raw<AuditState | null>(null);
  error = $state("");
  draft = $state.raw<drafts.Draft>(drafts.EMPTY);
  /** Whether to go on when as many were looked at as were planned. */
  beyond = $state(false);

  constructor(readonly host: AuditHost) {
    this.draft = draftOf(draftName(host.id));
  }

  /** The pictures to look at next: no more than were planned. */
  get batch(): Picture[] {
    if (!this.state) return [];
    const { batch, planned, said } = this.state;
    return this.beyond ? batch : batch.slice(0, Math.max(0, planned - said.length));
  }

  /** How many were looked at, with those that the server has yet to hear of. */
  get seen(): number {
    return new Set([...(this.state?.said ?? []).map(({ id }) => id), ...this.#unheard.keys()]).size;
  }

  get pending(): drafts.Draft {
    return this.host.pending;
  }

  get waiting(): number {
    return this.host.waiting;
  }

  /** What is answered here is learnt before it is acknowledged. */
  readonly learning = false;
  readonly said = drafts.EMPTY;

  get canUndo(): boolean {
    return this.#unheard.size > 0 || (this.state?.can_undo ?? false);
  }

  get canRedo(): boolean {
    return this.state?.can_redo ?? false;
  }

  /** Freeze what is above a threshold, in the place of an audit before. */
  begin(threshold: number, planned: number): void {
    this.#leave();
    this.host.push({ kind: "audit", threshold, planned });
  }

  /** Have what is known at the revision of the search. */
  async read(): Promise<void> {
    const search = this.host.state;
    if (!search || this.host.waiting || this.state?.revision === search.revision) return;
    if (!search.audit) return this.#leave();
    try {
      this.take(await api.audit(search.id));
    } catch (error) {
      this.state = null;
      this.error = messageOf(error);
    }
  }

  take(state: AuditState): void {
    // An answer to an earlier request may come later.
    if (this.state && this.state.revision > state.revision) return;
    this.state = state;
    this.error = "";
    // What is answered of pictures that are no longer asked about was answered in another tab.
    this.#setDraft(drafts.divide(this.draft, state.batch).kept);
  }

  /** A change was refused: what it answered is back on the cards. */
  refused(change: Change): void {
    if ("answers" in change) this.#setDraft(new Map([...drafts.fromAnswers(change.answers), ...this.draft]));
    // It may be another audit by now.
    this.state = null;
  }

  answer(id: number, answer: Answer): void {
    if (this.pending.has(id)) return;
    this.#setDraft(drafts.withAnswer(this.draft, id, answer));
    if (drafts.isComplete(this.draft, this.batch)) this.send();
  }

  clear(id: number): void {
    this.#setDraft(drafts.without(this.draft, id));
  }

  send(): void {
    if (!this.draft.size) return;
    const answers = drafts.toAnswers(this.draft);
    this.#setDraft(drafts.EMPTY);
    this.host.push({ kind: "audit/answers", answers });
  }

  undo(): void {
    if (this.draft.size) this.#setDraft(drafts.withoutLast(this.draft));
    else if (this.canUndo) this.host.push({ kind: "undo" });
  }

  redo(): void {
    if (this.canRedo) this.host.push({ kind: "redo" });
  }

  /** Forget what was found; what was said stays learnt. */
  end(): void {
    this.host.push({ kind: "audit/end" });
  }

  /** What was answered of this batch, and is not with the server. */
  get #unheard(): drafts.Draft {
    return drafts.divide(new Map([...this.pending, ...this.draft]), this.state?.batch ?? []).kept;
  }

  #leave(): void {
    this.state = null;
    this.error = "";
    this.beyond = false;
    this.#setDraft(drafts.EMPTY);
  }

  #setDraft(draft: drafts.Draft): void {
    if (draft.size === 0 && this.draft.size === 0) return;
    this.draft = draft;
    keepDraft(draftName(this.host.id), draft);
  }
}
