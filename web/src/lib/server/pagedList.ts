/** A long list of which only the pages that were looked at last are held; others are fetched when they are looked at. */
export type Fetch<T> = (offset: number, limit: number, signal: AbortSignal) => Promise<readonly T[]>;

export const PAGE = 200;
const HELD = 60;
const AT_ONCE = 3;

export class PagedList<T> {
  #pages = new Map<number, readonly T[]>();
  #loading = new Map<number, AbortController>();
  #wanted: number[] = [];
  #failed = new Set<number>();
  #closed = false;

  constructor(
    readonly fetch: Fetch<T>,
    /** Called when a page has come, or could not be read. */
    readonly changed: () => void,
  ) {}

  get(index: number): T | undefined {
    return this.#pages.get(Math.floor(index / PAGE))?.[index % PAGE];
  }

  /** Where a picture is among those that are held; -1 if it is not. */
  indexOf(matches: (item: T) => boolean): number {
    for (const [page, items] of this.#pages) {
      const at = items.findIndex(matches);
      if (at >= 0) return page * PAGE + at;
    }
    return -1;
  }

  failedAt(index: number): boolean {
    return this.#failed.has(Math.floor(index / PAGE));
  }

  /** Look at `[first, end)`: fetch the pages of it that are missing, and no longer those that were wanted before. */
  want(first: number, end: number): void {
    this.#wanted = [];
    for (let page = Math.floor(first / PAGE); page * PAGE < end; page++) {
      const held = this.#pages.get(page);
      if (held) {
        // Moved to the end of the map: the pages looked at last are dropped last.
        this.#pages.delete(page);
        this.#pages.set(page, held);
      } else if (!this.#failed.has(page)) this.#wanted.push(page);
    }
    this.#pump();
  }

  /** Fetch the pages of `[first, end)`; when they have come, they can be shown without delay. */
  async load(first: number, end: number): Promise<void> {
    const pages = new Set<number>();
    for (let index = first; index < Math.max(end, first + 1); index += PAGE) pages.add(Math.floor(index / PAGE));
    pages.add(Math.floor(Math.max(first, end - 1) / PAGE));
    await Promise.all([...pages].map((page) => this.#load(page)));
  }

  /** All items of `[first, end)`; those of pages that are not held are fetched, and missing if they cannot be read. */
  async between(first: number, end: number): Promise<T[]> {
    const indices = Array.from({ length: end - first }, (_, i) => first + i);
    const pages = new Set(indices.map((index) => Math.floor(index / PAGE)));
    await Promise.all([...pages].filter((page) => !this.#pages.has(page)).map((page) => this.#load(page)));
    return indices.flatMap((index) => this.get(index) ?? []);
  }

  retry(): void {
    this.#failed.clear();
    this.changed();
  }

  close(): void {
    this.#closed = true;
    for (const controller of this.#loading.values()) controller.abort();
  }

  #pump(): void {
    while (this.#loading.size < AT_ONCE) {
      const page = this.#wanted.shift();
      if (page === undefined) return;
      if (!this.#loading.has(page) && !this.#pages.has(page)) void this.#load(page).finally(() => this.#pump());
    }
  }

  async #load(page: number): Promise<void> {
    const controller = new AbortController();
    this.#loading.set(page, controller);
    try {
      const items = await this.fetch(page * PAGE, PAGE, controller.signal);
      this.#pages.set(page, items);
      const oldest = this.#pages.keys().next();
      if (this.#pages.size > HELD && !oldest.done) this.#pages.delete(oldest.value);
    } catch {
      this.#failed.add(page);
    } finally {
      this.#loading.delete(page);
      if (!this.#closed) this.changed();
    }
  }
}
