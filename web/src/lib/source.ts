/** What a grid or the viewer shows. */
export interface ListSource<T> {
  get(index: number): T | undefined;
  /** These are looked at. */
  want(first: number, end: number): void;
}

export function listSource<T>(items: readonly T[]): ListSource<T> {
  return { get: (index) => items[index], want: () => undefined };
}
