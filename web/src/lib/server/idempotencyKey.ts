/**
 * A fresh key for a change: the server applies a change once for each key, however often it is sent. Where the page is
 * no secure context (plain http in a LAN), browsers have no `randomUUID`.
 */
export function freshKey(): string {
  if (typeof crypto.randomUUID === "function") return crypto.randomUUID();
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
