/** Searches that were deleted a moment ago: the list hides them, and the server hears of it once undo is over. */
import { api } from "../server/api";
import { toasts } from "./toasts.svelte";

const GRACE = 7000;

class PendingDeletions {
  #ids = $state.raw<ReadonlySet<string>>(new Set());
  #timers = new Map<string, ReturnType<typeof setTimeout>>();

  constructor() {
    // Whoever leaves the page has not undone a deletion: it is sent now.
    addEventListener("pagehide", () => {
      for (const id of this.#timers.keys())
        void fetch(`/api/v1/searches/${encodeURIComponent(id)}`, { method: "DELETE", keepalive: true });
    });
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }

  add(id: string, name: string): void {
    this.#ids = new Set([...this.#ids, id]);
    this.#timers.set(
      id,
      setTimeout(() => void this.#remove(id), GRACE),
    );
    toasts.show(`Deleted “${name}”.`, { ms: GRACE, action: { label: "Undo", run: () => this.#restore(id) } });
  }

  #restore(id: string): void {
    clearTimeout(this.#timers.get(id));
    this.#timers.delete(id);
    this.#ids = new Set([...this.#ids].filter((other) => other !== id));
  }

  async #remove(id: string): Promise<void> {
    this.#timers.delete(id);
    try {
      await api.remove(id);
    } catch (error) {
      this.#restore(id);
      toasts.error(error, "The search was not deleted.");
    }
  }
}

export const pendingDeletions = new PendingDeletions();
