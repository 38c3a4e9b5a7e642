/** The modal dialogs that are open. They cover all else, so notes that must be seen go into the topmost of them. */
class DialogStack {
  #open = $state.raw<readonly HTMLDialogElement[]>([]);

  get top(): HTMLElement {
    return this.#open.at(-1) ?? document.body;
  }

  /** Show a dialog above all others; returns what to do when it is gone. */
  show(dialog: HTMLDialogElement): () => void {
    dialog.showModal();
    this.#open = [...this.#open, dialog];
    return () => (this.#open = this.#open.filter((other) => other !== dialog));
  }
}

export const dialogStack = new DialogStack();
