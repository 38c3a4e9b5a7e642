/** Where a collection was last looked at, in this tab. */
import { load, store } from "./keep";

const keyOf = (collection: string) => `ital.place.${collection}`;

export function placeIn(collection: string): number {
  return load<number>(keyOf(collection), "sessionStorage") ?? 0;
}

export function keepPlace(collection: string, index: number): void {
  store(keyOf(collection), index || null, "sessionStorage");
}
