/** Numbers, times and names as people read them. */
import type { Estimate } from "./types";

const whole = new Intl.NumberFormat("en");
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

export function count(value: number): string {
  return whole.format(Math.round(value));
}

export function pictures(value: number): string {
  return `${count(value)} ${Math.round(value) === 1 ? "picture" : "pictures"}`;
}

/** Never "100 %" or "0 %" of what is only nearly so. */
export function percent(value: number): string {
  const clamped = Math.min(1, Math.max(0, value));
  if (clamped > 0 && clamped < 0.01) return "< 1 %";
  if (clamped < 1 && clamped > 0.99) return "> 99 %";
  return `${Math.round(clamped * 100)} %`;
}

/** How likely something is that nobody has said: never quite 0 or 1. */
export function likely(probability: number): string {
  return percent(Math.min(0.999, Math.max(0.001, probability)));
}

/** From where to where something may be, as the end of a sentence. */
export function between(low: string, high: string): string {
  return low === high ? "" : `, between ${low} and ${high}`;
}

/** What is expected, and from where to where it may be. */
export function expected({ value, low, high }: Estimate): string {
  return percent(value) + between(percent(low), percent(high));
}

export function perSecond(value: number): string {
  return value >= 10 ? count(value) : rough.format(value);
}

/** What is left, roundly: "less than a minute", "3 min", "2 h 10 min". Empty if it cannot be told. */
export function timeLeft(done: number, total: number, speed: number): string {
  if (speed <= 0 || total <= 0) return "";
  const seconds = Math.max(0, total - done) / speed;
  if (seconds < 60) return "less than a minute";
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const rest = minutes % 60;
  return rest ? `${Math.floor(minutes / 60)} h ${rest} min` : `${minutes / 60} h`;
}

const STEPS: readonly [limit: number, seconds: number, unit: Intl.RelativeTimeFormatUnit][] = [
  [3600, 60, "minute"],
  [86400, 3600, "hour"],
  [7 * 86400, 86400, "day"],
];
const relative = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
const absolute = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });

export function ago(time: string, now: number = Date.now()): string {
  const then = Date.parse(time);
  if (Number.isNaN(then)) return "";
  const seconds = Math.max(0, (now - then) / 1000);
  if (seconds < 60) return "just now";
  for (const [limit, size, unit] of STEPS)
    if (seconds < limit) return relative.format(-Math.floor(seconds / size), unit);
  return absolute.format(then);
}

/** What went wrong, as a sentence begins; the server writes its reasons in lower case. */
export function messageOf(error: unknown): string {
  return capitalised(error instanceof Error ? error.message : String(error));
}

export function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** The last part of a path. */
export function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** The folder of a path, empty at the top. */
export function folder(path: string): string {
  const end = path.lastIndexOf("/");
  return end > 0 ? path.slice(0, end) : "";
}
