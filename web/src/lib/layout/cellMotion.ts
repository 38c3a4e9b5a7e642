/** Matches if the user has asked the system for less motion. */
export const still = matchMedia("(prefers-reduced-motion: reduce)");
const EASE = "cubic-bezier(0.2, 0.7, 0.2, 1)";

type Places = ReadonlyMap<number | string, string>;

/** Let a cell glide from its old place to its new one, or fade in if it had none. */
export function glide(element: HTMLElement, before: Places, after: Places): void {
  const id = Number(element.dataset.id);
  const from = before.get(id);
  const to = after.get(id);
  if (still.matches || !to || from === to) return;
  if (from) element.animate([{ transform: from }, { transform: to }], { duration: 450, easing: EASE });
  else element.animate([{ opacity: 0 }, { opacity: 1 }], { duration: 300, easing: "ease-out" });
}
