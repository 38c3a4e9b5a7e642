/** Values in the browser's storage. If it is full or forbidden, nothing is kept, and that is no error. */

export function storedKeys(): string[] {
  try {
    return Object.keys(localStorage);
  } catch {
    return [];
  }
}

/** `localStorage` keeps values for ever, `sessionStorage` as long as the tab is open. */
type Where = "localStorage" | "sessionStorage";

export function store(key: string, value: unknown, where: Where = "localStorage"): void {
  try {
    if (value === null) window[where].removeItem(key);
    else window[where].setItem(key, JSON.stringify(value));
  } catch {
    // The storage is full or forbidden.
  }
}

export function load<T>(key: string, where: Where = "localStorage"): T | null {
  try {
    const text = window[where].getItem(key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null;
  }
}
