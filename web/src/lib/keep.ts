/** Answers that the server does not have yet, kept over a reload. A full or forbidden store is no error. */
import type { Sealed } from "./outbox";
import { EMPTY, type Draft } from "./round";
import type { Answer } from "./types";

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

function storedKeys(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** For ever, or as long as the tab is open. */
type Where = "localStorage" | "sessionStorage";

export function store(key: string, value: unknown, where: Where = "localStorage"): void {
  try {
    if (value === null) window[where].removeItem(key);
    else window[where].setItem(key, JSON.stringify(value));
  } catch {
    // The page works without.
  }
}

export function load<T>(key: string, where: Where = "localStorage"): T | null {
  try {
    const text = window[where].getItem(key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
