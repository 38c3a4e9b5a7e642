/** What the threshold slider shows, without asking the server. */
import type { ThresholdInfo } from "./types";

/**
 * Whether the expected recall says anything. A picture counts as relevant to the degree 2 μ, which is nothing
 * at one half and below: there, all that is relevant is found by definition.
 */
export function tellsRecall(point: ThresholdInfo): boolean {
  return point.probability > 0.5;
}

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
