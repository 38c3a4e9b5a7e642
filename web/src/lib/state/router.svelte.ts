/** Which page is shown: it is in the address, so that a reload keeps it. */
export type Route =
  | { page: "browse"; collection: string | null }
  | { page: "searches" }
  | { page: "search"; id: string }
  | { page: "check"; id: string };

export function parse(hash: string): Route {
  const [first, second] = hash
    .replace(/^#?\/?/, "")
    .split("/")
    .map(decode);
  if ((first === "search" || first === "check") && second) return { page: first, id: second };
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

/** The state of the browser's history entry in which a picture is open in the viewer. */
export const VIEWER = "viewer";

class Router {
  route = $state.raw<Route>(parse(location.hash));
  #hash = location.hash;

  constructor() {
    // Each page scrolls to where it begins; the browser is not to do so as well.
    history.scrollRestoration = "manual";
    addEventListener("hashchange", () => {
      if (location.hash !== this.#hash) this.#show(location.hash);
    });
  }

  /** Show another page now, without waiting for the browser's event. */
  go(hash: string): void {
    // If the viewer is open, its history entry is replaced: Back is not to open the picture again.
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
export const checkHash = (id: string) => `#/check/${encodeURIComponent(id)}`;
export const router = new Router();
