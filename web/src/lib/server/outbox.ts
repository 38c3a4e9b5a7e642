/** Changes of a search on their way to the server: one after the other, each applied exactly once. */
import { MovedOn } from "./http";
import { freshKey } from "./idempotencyKey";
import { persist, type Link } from "./retry";
import type { Answer, SearchState, Settings } from "./types";

export type Change =
  /** Of whole stacks, unless it is said of these pictures alone. */
  | { kind: "answers"; answers: Record<string, Answer>; alone?: boolean }
  /** What a file says of pictures. */
  | { kind: "labels"; file: File }
  | { kind: "undo" }
  | { kind: "redo" }
  | { kind: "settings"; settings: Settings }
  | { kind: "audit"; threshold: number; planned: number }
  | { kind: "audit/answers"; answers: Record<string, Answer> }
  | { kind: "audit/end" };

/** A change with its key; it gets its revision when it is first sent, and keeps both from then on. */
export interface Sealed {
  change: Change;
  key: string;
  revision: number | null;
}

export interface OutboxHost extends Link {
  /** The revision that the page shows now. */
  revision(): number;
  post(sealed: Sealed & { revision: number }): Promise<SearchState>;
  /** A change was applied. */
  arrived(state: SearchState, change: Change): void;
  /** The search moved on elsewhere; `kept` tells whether the change will be made on the new state. */
  movedOn(state: SearchState, kept: boolean): void;
  refused(error: unknown, change: Change): void;
  /** Called on every move of the queue, to keep what is unsent over a reload. */
  changed(queue: readonly Sealed[]): void;
}

export class Outbox {
  #queue: Sealed[];
  #running = false;

  constructor(
    readonly host: OutboxHost,
    restored: readonly Sealed[] = [],
  ) {
    this.#queue = [...restored];
  }

  get queue(): readonly Sealed[] {
    return this.#queue;
  }

  push(change: Change): void {
    this.#queue.push({ change, key: freshKey(), revision: null });
    this.host.changed(this.#queue);
    void this.run();
  }

  /** Send what waits. Returns when nothing does. */
  async run(): Promise<void> {
    if (this.#running) return;
    this.#running = true;
    try {
      for (let sealed = this.#queue[0]; sealed; sealed = this.#queue[0]) await this.#deliver(sealed);
    } finally {
      this.#running = false;
    }
  }

  async #deliver(sealed: Sealed): Promise<void> {
    const revision = sealed.revision ?? this.host.revision();
    sealed.revision = revision;
    this.host.changed(this.#queue);
    try {
      const state = await persist(() => this.host.post({ ...sealed, revision }), this.host);
      this.#shift();
      this.host.arrived(state, sealed.change);
    } catch (error) {
      if (error instanceof MovedOn) {
        // An answer about a picture holds whatever the state; an undo is meant for the state that was seen.
        const kept = "answers" in sealed.change || sealed.change.kind === "labels";
        if (kept) Object.assign(sealed, { key: freshKey(), revision: null });
        else this.#shift();
        this.host.movedOn(error.state, kept);
      } else {
        this.#shift();
        // An undo that waits behind a refused change was meant for it: there is nothing to undo.
        if (this.#queue[0]?.change.kind === "undo") this.#shift();
        this.host.refused(error, sealed.change);
      }
    }
  }

  #shift(): void {
    this.#queue.shift();
    this.host.changed(this.#queue);
  }
}
