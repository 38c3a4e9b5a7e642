/** Whether the server can be reached, for the banner and for requests that wait to be repeated. */
import type { Link } from "./retry";

class Connection implements Link {
  away = $state(false);
  /** Goes up each time the server comes back. */
  returns = $state(0);
  #wakers = new Set<() => void>();

  lost(): void {
    this.away = true;
  }

  found(): void {
    if (!this.away) return;
    this.away = false;
    this.returns++;
    this.#wake();
  }

  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#wakers.delete(done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wakers.add(done);
    });
  }

  /** Try again at once: the network is back, or the user looks at the page again. */
  nudge(): void {
    if (this.away) this.#wake();
  }

  #wake(): void {
    for (const waker of [...this.#wakers]) waker();
  }
}

export const connection = new Connection();
