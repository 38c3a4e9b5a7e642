/** What the threshold slider shows, without asking the server. */
import type { ThresholdInfo } from "../server/types";

/** The point of the table that is nearest to a probability; the table ascends. */
export function nearest(table: readonly ThresholdInfo[], probability: number): ThresholdInfo | undefined {
  let low = 0;
  let high = table.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (table[middle]!.probability < probability) low = middle + 1;
    else high = middle;
  }
  const above = table[low];
  const below = table[low - 1];
  if (!above || !below) return above;
  return above.probability - probability <= probability - below.probability ? above : below;
}
