/** The response to the request that was made last: one to an earlier request that comes later is dropped. */
import { messageOf } from "../text/format";

export class LatestResponse<T> {
  value = $state.raw<T | null>(null);
  error = $state("");
  #awaited: Promise<T> | null = null;

  /** Hold what comes, unless something else was asked for before it came. */
  async take(coming: Promise<T>): Promise<void> {
    this.#awaited = coming;
    try {
      const value = await coming;
      if (this.#awaited !== coming) return;
      this.value = value;
      this.error = "";
    } catch (error) {
      if (this.#awaited === coming) this.error = messageOf(error);
    }
  }
}
