/** Where a collection was last looked at, while the page is open. */
const places = new Map<string, { index: number }>();

export function lastPlace(collection: string): { index: number } {
  const place = places.get(collection) ?? { index: 0 };
  places.set(collection, place);
  return place;
}
