/** The results of a search. Those that are shown stay until the next ones have come, so that cells can move to their new places. */
import { api } from "../server/api";
import { folder, messageOf } from "../text/format";
import { press } from "../input/press";
import { PagedList } from "../server/pagedList";
import type { Session } from "./session.svelte";
import type { Result, SearchState, Thresholds } from "../server/types";

export class Ranking {
  total = $state(0);
  /** The revision whose results are shown. */
  revision = $state(-1);
  /** Goes up when pages of results come. */
  version = $state(0);
  /** Goes up when the order changes. */
  order = $state(0);
  /** Whether there was an answer to learn from: before the first, probabilities mean nothing. */
  learnt = $state(false);
  table = $state.raw<Thresholds | null>(null);
  error = $state("");
  /** Folders of the results that came by now. */
  folders = $state.raw<ReadonlySet<string>>(new Set());
  pages = $state.raw<PagedList<Result> | null>(null);
  #coming: PagedList<Result> | null = null;

  constructor(readonly session: Session) {}

  /** Show the results of a search as it stands, of which `[first, end)` are looked at, as they are to be arranged. */
  async show(
    { revision, progress }: Pick<SearchState, "revision" | "progress">,
    first: number,
    end: number,
    arranged: Record<string, string> = {},
  ): Promise<void> {
    let total = 0;
    let found = revision;
    const pages: PagedList<Result> = new PagedList(
      async (offset, limit, signal) => {
        const page = await api.results(this.session.id, offset, limit, arranged, signal);
        total = page.total;
        found = page.revision;
        if (page.revision !== revision) void this.session.look();
        this.folders = new Set([...this.folders, ...page.results.map(({ name }) => folder(name))].filter(Boolean));
        return page.results;
      },
      () => this.version++,
    );
    this.#coming?.close();
    this.#coming = pages;
    try {
      const [table] = await Promise.all([api.thresholds(this.session.id), pages.load(first, end)]);
      await press.over();
      if (this.#coming !== pages) return;
      this.#coming = null;
      this.pages = pages;
      this.revision = revision;
      // A table of an earlier revision does not belong to these results; the right one comes with the next revision.
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
