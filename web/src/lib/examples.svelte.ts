/** Pictures that were marked while browsing, to start a search with. */
import type { Picture } from "./types";

export interface Example {
  picture: Picture;
  relevant: boolean;
}

class Examples {
  list = $state<Example[]>([]);
  #marks = $derived(new Map(this.list.map(({ picture, relevant }) => [picture.id, relevant])));

  relevant = $derived(this.list.filter((example) => example.relevant).map((example) => example.picture.id));
  irrelevant = $derived(this.list.filter((example) => !example.relevant).map((example) => example.picture.id));

  of(id: number): boolean | undefined {
    return this.#marks.get(id);
  }

  /** Marking a picture the same way again takes the mark off. */
  mark(picture: Picture, relevant: boolean): void {
    const before = this.of(picture.id);
    const others = this.list.filter((example) => example.picture.id !== picture.id);
    this.list = before === relevant ? others : [...others, { picture, relevant }];
  }

  clear(): void {
    this.list = [];
  }
}

export const examples = new Examples();
