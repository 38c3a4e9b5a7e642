/** What is read from the server, where the question may change before the answer has come. */
import { messageOf } from "./format";

export class Reading<T> {
  value = $state.raw<T | null>(null);
  error = $state("");

  /** Take what comes; returns how to take it no more. */
  take(coming: Promise<T>): () => void {
    let awaited = true;
    coming.then(
      (value) => {
        if (!awaited) return;
        this.value = value;
        this.error = "";
      },
      (error: unknown) => {
        if (awaited) this.error = messageOf(error);
      },
    );
    return () => (awaited = false);
  }
}
