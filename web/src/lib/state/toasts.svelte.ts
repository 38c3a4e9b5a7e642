/** Short notes at the edge of the page, some with something to do about them. */
import { messageOf } from "../text/format";

export interface Toast {
  id: number;
  text: string;
  tone: "plain" | "error";
  action?: { label: string; run: () => void };
}

let last = 0;

class Toasts {
  list = $state<Toast[]>([]);

  /** Returns a function that takes the note away. */
  show(text: string, options: { tone?: Toast["tone"]; action?: Toast["action"]; ms?: number } = {}): () => void {
    const id = ++last;
    const { tone = "plain", action, ms = tone === "error" ? 9000 : 5000 } = options;
    this.list = [...this.list.filter((toast) => toast.text !== text), { id, text, tone, ...(action ? { action } : {}) }];
    const close = () => (this.list = this.list.filter((toast) => toast.id !== id));
    setTimeout(close, ms);
    return close;
  }

  error(error: unknown, before = ""): void {
    this.show(`${before} ${messageOf(error)}`.trim(), { tone: "error" });
  }

  close(id: number): void {
    this.list = this.list.filter((toast) => toast.id !== id);
  }
}

export const toasts = new Toasts();
