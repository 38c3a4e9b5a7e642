/** The items that a grid or the viewer shows, of which some may not have come yet. */
export interface ListSource<T> {
  get(index: number): T | undefined;
  /** Say that `[first, end)` are looked at, so that they are fetched. */
  want(first: number, end: number): void;
}

export function listSource<T>(items: readonly T[]): ListSource<T> {
  return { get: (index) => items[index], want: () => undefined };
}
