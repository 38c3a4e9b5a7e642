/** The answers to a batch before they are sent. */
import type { Answer, Picture } from "../server/types";

/** In the order in which they were given, so that the last one can be taken back. */
export type Draft = ReadonlyMap<number, Answer>;

/** Whatever asks about a batch of pictures. */
export interface Answering {
  readonly draft: Draft;
  /** Answers on their way, shown as if they had arrived. */
  readonly pending: Draft;
  /** How many changes are on their way. */
  readonly waiting: number;
  /** Whether the server has taken answers that it has yet to learn, */
  readonly learning: boolean;
  /** which are among all that was said of pictures since they were shown. */
  readonly said: Draft;
  answer(id: number, answer: Answer): void;
  clear(id: number): void;
  /** Send what is answered. */
  send(): void;
  undo(): void;
  redo(): void;
}

export const EMPTY: Draft = new Map();

export function withAnswer(draft: Draft, id: number, answer: Answer): Draft {
  const next = new Map(draft);
  next.delete(id);
  return next.set(id, answer);
}

export function without(draft: Draft, id: number): Draft {
  const next = new Map(draft);
  next.delete(id);
  return next;
}

export function withoutLast(draft: Draft): Draft {
  const last = [...draft.keys()].at(-1);
  return last === undefined ? draft : without(draft, last);
}

export function isComplete(draft: Draft, batch: readonly Picture[]): boolean {
  return batch.length > 0 && batch.every((picture) => draft.has(picture.id));
}

/** Where to go on after `index`: the next picture without an answer, around the end; -1 if there is none. */
export function nextOpen(draft: Draft, batch: readonly Picture[], index: number): number {
  for (let step = 1; step <= batch.length; step++) {
    const candidate = (index + step) % batch.length;
    const picture = batch[candidate];
    if (picture && !draft.has(picture.id)) return candidate;
  }
  return -1;
}

/** A draft in two: what belongs to the batch, and what was said of pictures that it no longer asks about. */
export function divide(draft: Draft, batch: readonly Picture[]): { kept: Draft; orphans: Draft } {
  const asked = new Set(batch.map((picture) => picture.id));
  const entries = [...draft];
  return {
    kept: new Map(entries.filter(([id]) => asked.has(id))),
    orphans: new Map(entries.filter(([id]) => !asked.has(id))),
  };
}

export function toAnswers(draft: Draft): Record<string, Answer> {
  return Object.fromEntries([...draft].map(([id, answer]) => [String(id), answer]));
}

export function fromAnswers(answers: Record<string, Answer>): Draft {
  return new Map(Object.entries(answers).map(([id, answer]) => [Number(id), answer]));
}
