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

class Router {
  route = $state<Route>(parse(location.hash));

  constructor() {
    addEventListener("hashchange", () => (this.route = parse(location.hash)));
  }

  go(hash: string): void {
    if (location.hash === hash) this.route = parse(hash);
    else location.hash = hash;
  }
}

export const searchHash = (id: string) => `#/search/${encodeURIComponent(id)}`;
export const router = new Router();
