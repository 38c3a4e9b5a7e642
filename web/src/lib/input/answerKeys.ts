/** The keys that answer: Y, N and U, or 1, 2 and 3. */
import type { Answer } from "../server/types";

const KEYS: Readonly<Record<string, Answer>> = { y: "yes", "1": "yes", n: "no", "2": "no", u: "unsure", "3": "unsure" };

/** The answer that a key stands for. */
export function answerOf(event: KeyboardEvent): Answer | undefined {
  return KEYS[event.key.toLowerCase()];
}
