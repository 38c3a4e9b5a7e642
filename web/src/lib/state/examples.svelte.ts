/** Pictures that were marked while browsing, and words that were typed, to start a search with. */
import { load, store } from "../storage/browserStorage";
import type { NewSearch, Picture } from "../server/types";

export interface Example {
  picture: Picture;
  relevant: boolean;
}

export class Examples {
  text = $state("");
  #list = $state.raw<readonly Example[]>([]);
  #key: string;

  /** One for each collection: the numbers of pictures mean others elsewhere. */
  static #all = new Map<string, Examples>();

  static of(collection: string): Examples {
    const examples = Examples.#all.get(collection) ?? new Examples(collection);
    Examples.#all.set(collection, examples);
    return examples;
  }

  constructor(collection: string) {
    this.#key = `ital.examples.${collection}`;
    this.#list = load<Example[]>(this.#key, "sessionStorage") ?? [];
  }

  get list(): readonly Example[] {
    return this.#list;
  }

  // Not derived states: those would end with the component that first asked for them.
  get relevant(): number[] {
    return this.#list.filter((example) => example.relevant).map((example) => example.picture.id);
  }

  get irrelevant(): number[] {
    return this.#list.filter((example) => !example.relevant).map((example) => example.picture.id);
  }

  /** All of it, as a search begins with it. */
  get query(): Pick<NewSearch, "relevant" | "irrelevant" | "text"> {
    return { relevant: this.relevant, irrelevant: this.irrelevant, text: this.text.trim() || null };
  }

  of(id: number): boolean | undefined {
    return this.#list.find((example) => example.picture.id === id)?.relevant;
  }

  /** Marking a picture the same way again takes the mark off. */
  mark(picture: Picture, relevant: boolean): void {
    const others = this.#list.filter((example) => example.picture.id !== picture.id);
    this.#set(this.of(picture.id) === relevant ? others : [...others, { picture, relevant }]);
  }

  /** Mark many pictures the same way, whatever they were marked before. */
  markAll(pictures: Iterable<Picture>, relevant: boolean): void {
    const marked = new Map([...pictures].map((picture) => [picture.id, { picture, relevant }]));
    this.#set([...this.#list.filter((example) => !marked.has(example.picture.id)), ...marked.values()]);
  }

  clear(): void {
    this.#set([]);
  }

  #set(list: readonly Example[]): void {
    this.#list = list;
    store(this.#key, list.length ? list : null, "sessionStorage");
  }
}
