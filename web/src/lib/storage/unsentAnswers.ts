/** Answers that the server does not have yet, kept over a reload. */
import type { Sealed } from "../server/outbox";
import type { Answer } from "../server/types";
import { EMPTY, type Draft } from "../state/answerDraft";
import { load, store, storedKeys } from "./browserStorage";

const draftKey = (search: string) => `ital.draft.${search}`;

export function draftOf(search: string): Draft {
  const entries = load<[number, Answer][]>(draftKey(search));
  return entries ? new Map(entries) : EMPTY;
}

export function keepDraft(search: string, draft: Draft): void {
  store(draftKey(search), draft.size ? [...draft] : null);
}

/** Changes on their way, each under its own key: tabs that have the same search open share the store. */
export class KeptChanges {
  #prefix: string;
  #mine = new Set<string>();

  constructor(search: string) {
    this.#prefix = `ital.outbox.${search}.`;
  }

  /** What was on its way when the page was left. */
  restore(): Sealed[] {
    const kept = storedKeys()
      .filter((key) => key.startsWith(this.#prefix))
      .flatMap((key) => load<Sealed>(key) ?? []);
    for (const { key } of kept) this.#mine.add(key);
    return kept.sort((a, b) => (a.revision ?? Infinity) - (b.revision ?? Infinity));
  }

  keep(queue: readonly Sealed[]): void {
    const now = new Map(queue.map((sealed) => [sealed.key, sealed]));
    for (const key of this.#mine) if (!now.has(key)) store(this.#prefix + key, null);
    for (const [key, sealed] of now) store(this.#prefix + key, sealed);
    this.#mine = new Set(now.keys());
  }
}
