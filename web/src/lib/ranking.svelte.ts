/** The results of a search. What is shown stays until what comes next is there, so that it can move. */
import { api } from "./api";
import { messageOf } from "./format";
import { Pages } from "./pages";
import type { Session } from "./session.svelte";
import type { Result, SearchState, Thresholds } from "./types";

export class Ranking {
  total = $state(0);
  /** The revision whose results are shown. */
  revision = $state(-1);
  /** Goes up when windows of results come. */
  version = $state(0);
  /** Goes up when the order changes. */
  order = $state(0);
  /** Whether there were answers to learn from: before, probabilities mean nothing. */
  learnt = $state(false);
  table = $state.raw<Thresholds | null>(null);
  error = $state("");
  pages = $state.raw<Pages<Result> | null>(null);
  #coming: Pages<Result> | null = null;

  constructor(readonly session: Session) {}

  /** Show the results of a search as it stands, of which `[first, end)` are looked at. */
  async show({ revision, progress }: Pick<SearchState, "revision" | "progress">, first: number, end: number): Promise<void> {
    let total = 0;
    let found = revision;
    const pages: Pages<Result> = new Pages(
      async (offset, limit, signal) => {
        const page = await api.results(this.session.id, offset, limit, signal);
        total = page.total;
        found = page.revision;
        if (page.revision !== revision) void this.session.look();
        return page.results;
      },
      () => this.version++,
    );
    this.#coming?.close();
    this.#coming = pages;
    try {
      const [table] = await Promise.all([api.thresholds(this.session.id), pages.load(first, end)]);
      if (this.#coming !== pages) return;
      this.#coming = null;
      this.pages = pages;
      this.revision = revision;
      // An older table does not belong to these results; the next one comes with the next revision.
      if (table.revision >= found) this.table = table;
      this.learnt = progress.length > 0;
      this.total = total;
      this.error = pages.failedAt(first) ? "The results could not be read." : "";
      this.order++;
    } catch (error) {
      if (this.#coming === pages) this.error = messageOf(error);
    }
  }

  close(): void {
    this.#coming?.close();
    this.pages?.close();
  }
}
