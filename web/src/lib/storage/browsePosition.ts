/** The first picture in view when a collection was browsed last, in this tab. */
import { load, store } from "./browserStorage";

const keyOf = (collection: string) => `ital.place.${collection}`;

export function positionIn(collection: string): number {
  return load<number>(keyOf(collection), "sessionStorage") ?? 0;
}

export function keepPosition(collection: string, index: number): void {
  store(keyOf(collection), index || null, "sessionStorage");
}
