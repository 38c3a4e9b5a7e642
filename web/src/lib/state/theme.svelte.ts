/** Light or dark: as the system has it, unless the user chose. */
import { load, store } from "../storage/browserStorage";

const KEY = "ital.theme";
const system = matchMedia("(prefers-color-scheme: dark)");

class Theme {
  #chosen = $state<string | null>(load<string>(KEY));
  #system = $state(system.matches);
  dark = $derived(this.#chosen ? this.#chosen === "dark" : this.#system);

  constructor() {
    system.addEventListener("change", () => (this.#system = system.matches));
    this.#apply();
  }

  toggle(): void {
    this.#chosen = this.dark ? "light" : "dark";
    store(KEY, this.#chosen);
    this.#apply();
  }

  #apply(): void {
    if (this.#chosen) document.documentElement.dataset.theme = this.#chosen;
  }
}

export const theme = new Theme();
