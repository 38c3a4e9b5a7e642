/** Trying again until the server is back. */
import { Unreachable } from "./http";

export interface Link {
  /** A try failed: the server is away. */
  lost(): void;
  /** The server answered. */
  found(): void;
  /** Resolves after `ms`, or sooner if there is reason to believe that the server is back. */
  wait(ms: number): Promise<void>;
}

const FIRST = 400;
const LONGEST = 8000;

/** How long to wait after the n-th failure, n from 0 on. */
export function backoff(failures: number): number {
  return Math.min(LONGEST, FIRST * 2 ** failures);
}

/** Do `attempt` until the server answers it, be it with a refusal. `attempt` must be safe to repeat. */
export async function persist<T>(attempt: () => Promise<T>, link: Link, signal?: AbortSignal): Promise<T> {
  for (let failures = 0; ; failures++) {
    try {
      const value = await attempt();
      link.found();
      return value;
    } catch (error) {
      if (!(error instanceof Unreachable)) {
        if (!signal?.aborted) link.found();
        throw error;
      }
      link.lost();
      await link.wait(backoff(failures));
      if (signal?.aborted) throw error;
    }
  }
}
