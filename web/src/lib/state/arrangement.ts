/** In which order results are shown, and which of them. */
export interface Arrangement {
  sort: "probability" | "taken" | "name";
  /** The folder in which they are, or empty for all. */
  folder: string;
  /** The days on which they were taken, as 2024-12-31, or empty. */
  from: string;
  to: string;
}

/** All results, the best first. */
export const PLAIN: Arrangement = { sort: "probability", folder: "", from: "", to: "" };

/** Whether some results are left out, beside those below the threshold. */
export function isFiltered({ folder, from, to }: Arrangement): boolean {
  return folder !== "" || from !== "" || to !== "";
}

export function isPlain(arrangement: Arrangement): boolean {
  return arrangement.sort === PLAIN.sort && !isFiltered(arrangement);
}

/** What is asked of the server. Another order or a filter is for what is above the threshold. */
export function parameters(arrangement: Arrangement, threshold: number): Record<string, string> {
  if (isPlain(arrangement)) return {};
  const { sort, folder, from, to } = arrangement;
  const given = Object.entries({ folder, from, to }).filter(([, value]) => value !== "");
  return { sort, threshold: String(threshold), ...Object.fromEntries(given) };
}
