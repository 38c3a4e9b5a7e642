/** The collections, the one that is looked at, and its indexing as it goes on. */
import { api, urls } from "../server/api";
import { messageOf } from "../text/format";
import { load, store } from "../storage/browserStorage";
import { toasts } from "./toasts.svelte";
import type { CollectionInfo } from "../server/types";

const KEY = "ital.collection";
const AGAIN = 2000;

class Collections {
  list = $state<CollectionInfo[] | null>(null);
  error = $state("");
  #chosen = $state<string | null>(load<string>(KEY));

  current: CollectionInfo | null = $derived(
    this.list?.find((collection) => collection.id === this.#chosen) ?? this.list?.[0] ?? null,
  );

  async refresh(): Promise<void> {
    try {
      this.list = await api.collections();
      this.error = "";
    } catch (error) {
      this.error = messageOf(error);
    }
  }

  choose(id: string): void {
    this.#chosen = id;
    store(KEY, id);
  }

  update(info: CollectionInfo): void {
    this.list = (this.list ?? []).map((other) => (other.id === info.id ? info : other));
  }

  /** Look for new pictures. */
  async index(id: string): Promise<void> {
    try {
      this.update(await api.index(id));
    } catch (error) {
      toasts.error(error);
    }
  }

  /** Follow the events of a collection; returns how to stop. */
  follow(id: string): () => void {
    let source: EventSource;
    let timer: ReturnType<typeof setTimeout>;
    let stopped = false;
    const open = () => {
      source = new EventSource(urls.events(id));
      source.onmessage = (event) => this.update(JSON.parse(String(event.data)) as CollectionInfo);
      source.onerror = () => void lost();
    };
    // The stream breaks when the server goes: asking it anything tells, and waits until it is back.
    const lost = async () => {
      source.close();
      try {
        this.update(await api.collection(id));
      } catch {
        // It answers, if only with a refusal: the stream is worth another try, later.
      }
      if (!stopped) timer = setTimeout(open, AGAIN);
    };
    open();
    return () => {
      stopped = true;
      clearTimeout(timer);
      source.close();
    };
  }
}

export const collections = new Collections();
