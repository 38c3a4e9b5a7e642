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
  /** Ends when all that was asked for is selected. */
  #turn: Promise<void> = Promise.resolve();
  #cleared = 0;

  /** `between` gives the items `[first, end)` of the list, some of which may have to be fetched. */
  constructor(readonly between: (first: number, end: number) => Promise<readonly T[]>) {}

  get size(): number {
    return this.items.size;
  }

  has(id: number): boolean {
    return this.items.has(id);
  }

  /** Select an item, or no longer. A range may begin at it. */
  toggle(index: number): Promise<void> {
    return this.#inTurn(async (stillWanted) => {
      const item = (await this.between(index, index + 1))[0];
      if (!item || !stillWanted()) return;
      const others = [...this.items.values()].filter((other) => other.id !== item.id);
      this.#set(this.has(item.id) ? others : [...others, item]);
      this.#begin(index);
    });
  }

  /** Begin a range at an item; what is selected by now stays so. */
  begin(index: number): Promise<void> {
    return this.#inTurn(() => this.#begin(index));
  }

  /** Select from where the range began to an item, instead of to the item it reached before. */
  extend(index: number): Promise<void> {
    return this.#inTurn(async (stillWanted) => {
      const first = Math.min(index, this.#anchor);
      const end = Math.max(index, this.#anchor) + 1;
      // One more than can be selected tells that there are more.
      const items = await this.between(first, Math.min(end, first + MOST + 1));
      if (stillWanted()) this.#set([...this.#before.values(), ...items]);
    });
  }

  /** Select the first items of the list, and nothing else. */
  async first(count: number): Promise<void> {
    this.clear();
    if (count > 0) await this.extend(count - 1);
  }

  clear(): void {
    this.#cleared++;
    this.#set([]);
    this.#begin(0);
  }

  /** One step after the other, however long each has to wait for its items: a range begins where the step before it ended. */
  #inTurn(step: (stillWanted: () => boolean) => Promise<void> | void): Promise<void> {
    const cleared = this.#cleared;
    const stillWanted = () => cleared === this.#cleared;
    const done = this.#turn.then(() => (stillWanted() ? step(stillWanted) : undefined));
    // Items that could not be fetched are for the caller to know, and no reason to take no others.
    this.#turn = done.catch(() => undefined);
    return done;
  }

  #begin(index: number): void {
    this.#anchor = index;
    this.#before = this.items;
  }

  #set(items: readonly T[]): void {
    const all = new Map(items.map((item) => [item.id, item]));
    this.full = all.size > MOST;
    this.items = this.full ? new Map([...all].slice(0, MOST)) : all;
  }
}
