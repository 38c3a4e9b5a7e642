/** What is read from the server, where the question may change before the answer has come. */
import { messageOf } from "./format";

export class Reading<T> {
  value = $state.raw<T | null>(null);
  error = $state("");
  #awaited: Promise<T> | null = null;

  /** Show what comes, unless something else is asked for meanwhile. */
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
