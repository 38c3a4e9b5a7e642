/** Items of a long list that are selected, to do the same to all of them. */

/** The most items of a selection: the server takes no more answers at once. */
export const MOST = 1000;

export class Selection<T extends { id: number }> {
  /** What is selected, by identifier, in the order in which it was. */
  items = $state.raw<ReadonlyMap<number, T>>(new Map());
  /** Whether there was more to select than `MOST`. */
  full = $state(false);
  /** Where a range begins, and what was selected before it. */
  #anchor = 0;
  #before: ReadonlyMap<number, T> = new Map();
  #latest = 0;

  /** `between` gives the items `[first, end)` of the list, some of which may have to be fetched. */
  constructor(readonly between: (first: number, end: number) => Promise<readonly T[]>) {}

  get size(): number {
    return this.items.size;
  }

  has(id: number): boolean {
    return this.items.has(id);
  }

  /** Select an item, or no longer. A range may begin at it. */
  async toggle(index: number): Promise<void> {
    const item = (await this.#read(index, index + 1))?.[0];
    if (!item) return;
    const others = [...this.items.values()].filter((other) => other.id !== item.id);
    this.#set(this.has(item.id) ? others : [...others, item]);
    this.begin(index);
  }

  /** Begin a range at an item; what is selected by now stays so. */
  begin(index: number): void {
    this.#anchor = index;
    this.#before = this.items;
  }

  /** Select from where the range began to an item, instead of to the item it reached before. */
  async extend(index: number): Promise<void> {
    const first = Math.min(index, this.#anchor);
    const end = Math.max(index, this.#anchor) + 1;
    // One more than can be selected tells that there are more.
    const items = await this.#read(first, Math.min(end, first + MOST + 1));
    if (items) this.#set([...this.#before.values(), ...items]);
  }

  /** Select the first items of the list, and nothing else. */
  async first(count: number): Promise<void> {
    this.clear();
    if (count > 0) await this.extend(count - 1);
  }

  clear(): void {
    this.#latest++;
    this.#set([]);
    this.begin(0);
  }

  /** What is read, unless another item was pointed at before it came. */
  async #read(first: number, end: number): Promise<readonly T[] | null> {
    const mine = ++this.#latest;
    const items = await this.between(first, end);
    return mine === this.#latest ? items : null;
  }

  #set(items: readonly T[]): void {
    const all = new Map(items.map((item) => [item.id, item]));
    this.full = all.size > MOST;
    this.items = this.full ? new Map([...all].slice(0, MOST)) : all;
  }
}
