/** A state that has just come, for the view that opens next: it need not ask again. */
import type { SearchState } from "./types";

let waiting: SearchState | null = null;

export const opened = {
  put(state: SearchState): void {
    waiting = state;
  },
  take(id: string): SearchState | null {
    const state = waiting?.id === id ? waiting : null;
    waiting = null;
    return state;
  },
};
