/** The state of a search that the server has just sent: the view that opens it next need not ask for it again. */
import type { SearchState } from "../server/types";

let waiting: SearchState | null = null;

export const freshSearch = {
  put(state: SearchState): void {
    waiting = state;
  },
  take(id: string): SearchState | null {
    const state = waiting?.id === id ? waiting : null;
    waiting = null;
    return state;
  },
};
