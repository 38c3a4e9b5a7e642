/** How many cards of a batch stand beside each other. */
const LEAST = 184;
const GAP = 16;

/** How many columns: all cards in a row or two if they fit, else in rows as even as can be. */
export function columnsFor(cards: number, width: number): number {
  const wanted = cards <= 5 ? cards : cards <= 8 ? Math.ceil(cards / 2) : 6;
  // Two fit on any phone.
  const fitting = Math.max(2, Math.floor((width + GAP) / (LEAST + GAP)));
  if (fitting >= wanted) return Math.max(1, wanted);
  return Math.ceil(cards / Math.ceil(cards / fitting));
}
