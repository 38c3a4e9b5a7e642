/** Starting searches: from pictures of the collection, or from outside. */
import { tick } from "svelte";
import { api } from "../server/api";
import { collections } from "./collections.svelte";
import { Examples } from "./examples.svelte";
import { freshSearch } from "./freshSearch";
import { isLabelFile } from "../input/labelFiles";
import { router, searchHash } from "./router.svelte";
import { Session } from "./session.svelte";
import { toasts } from "./toasts.svelte";
import type { NewSearch, SearchState } from "../server/types";

type Query = Omit<NewSearch, "collection" | "settings">;

class Start {
  /** What is being done, for the page to show; empty if nothing. */
  busy = $state("");

  async search(query: Query): Promise<void> {
    const collection = collections.current;
    if (!collection || this.busy) return;
    await this.#open("Starting the search…", () => api.create({ collection: collection.id, ...query }));
  }

  /** Pictures begin a search. A table of labels teaches the one that is open, or begins one. */
  async files(files: readonly File[]): Promise<void> {
    const table = files.find(isLabelFile);
    const { route } = router;
    if (table && route.page === "search") return Session.of(route.id).bring(table);
    // A picture may be dropped before the page has read which collections there are.
    if (!collections.current) await collections.refresh();
    const collection = collections.current;
    const chosen = files.filter((file) => file.type.startsWith("image/") || file.type === "").slice(0, 20);
    if (!collection || this.busy || files.length === 0) return;
    if (table) return this.#open("Reading your labels…", () => api.createFromLabels(collection.id, table));
    if (chosen.length === 0) {
      toasts.show("That is not a picture.", { tone: "error" });
      return;
    }
    if (!collection.can_embed) {
      toasts.show("This collection cannot be asked with pictures from outside.", { tone: "error" });
      return;
    }
    await this.#open("Reading your picture…", async () => {
      const uploads: string[] = [];
      for (const file of chosen) uploads.push((await api.upload(collection.id, file)).id);
      return api.create({ collection: collection.id, uploads, name: nameFor(chosen) });
    });
  }

  async #open(what: string, create: () => Promise<SearchState>): Promise<void> {
    // While the search starts, the page is inert and loses the focus; if that fails, the focus returns to where it was.
    const before = document.activeElement;
    this.busy = what;
    try {
      const state = await create();
      this.busy = "";
      freshSearch.put(state);
      const examples = Examples.of(state.collection);
      examples.clear();
      examples.text = "";
      router.go(searchHash(state.id));
    } catch (error) {
      this.busy = "";
      toasts.error(error);
      await tick();
      if (before instanceof HTMLElement) before.focus({ preventScroll: true });
    }
  }
}

function nameFor(files: readonly File[]): string | null {
  const name = files[0]?.name.replace(/\.[^.]*$/, "").trim().slice(0, 200);
  return name ? name : null;
}

export const start = new Start();
