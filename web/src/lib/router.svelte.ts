/** The place on the page, in the address, so that a reload keeps it. */
export type Route =
  | { page: "browse"; collection: string | null }
  | { page: "searches" }
  | { page: "search"; id: string };

export function parse(hash: string): Route {
  const [first, second] = hash
    .replace(/^#?\/?/, "")
    .split("/")
    .map(decode);
  if (first === "search" && second) return { page: "search", id: second };
  if (first === "searches") return { page: "searches" };
  return { page: "browse", collection: first === "collection" && second ? second : null };
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** Marks the place in the history of a picture that is looked at closely. */
export const VIEWER = "viewer";

class Router {
  route = $state.raw<Route>(parse(location.hash));
  #hash = location.hash;

  constructor() {
    // Every page knows where it begins.
    history.scrollRestoration = "manual";
    addEventListener("hashchange", () => {
      if (location.hash !== this.#hash) this.#show(location.hash);
    });
  }

  /** At once, so that nothing else is seen in between. */
  go(hash: string): void {
    // A picture that was looked at closely is no place to come back to.
    if (history.state === VIEWER) location.replace(hash);
    else location.hash = hash;
    this.#show(hash);
  }

  #show(hash: string): void {
    this.#hash = hash;
    this.route = parse(hash);
  }
}

export const searchHash = (id: string) => `#/search/${encodeURIComponent(id)}`;
export const router = new Router();
