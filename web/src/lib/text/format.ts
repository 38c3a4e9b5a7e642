/** Numbers, times and names as people read them. */
import type { Estimate } from "../server/types";

const whole = new Intl.NumberFormat("en");
const rough = new Intl.NumberFormat("en", { maximumSignificantDigits: 2 });

export function count(value: number): string {
  return whole.format(Math.round(value));
}

export function pictures(value: number): string {
  return `${count(value)} ${Math.round(value) === 1 ? "picture" : "pictures"}`;
}

/** How far along something is: "12 of 60", or what is beyond that. */
export function outOf(done: number, planned: number): string {
  return done > planned ? `${count(done)} instead of ${count(planned)}` : `${count(done)} of ${count(planned)}`;
}

/** A part in percent: "0 %" and "100 %" only if it is exactly that. */
export function percent(value: number): string {
  const clamped = Math.min(1, Math.max(0, value));
  if (clamped > 0 && clamped < 0.01) return "< 1 %";
  if (clamped < 1 && clamped > 0.99) return "> 99 %";
  return `${Math.round(clamped * 100)} %`;
}

/** A probability of the model, which is never certain: neither "0 %" nor "100 %". */
export function likely(probability: number): string {
  return percent(Math.min(0.999, Math.max(0.001, probability)));
}

/** The bounds of an estimate as the end of a sentence; empty if they are the same. */
export function between(low: string, high: string): string {
  return low === high ? "" : `, between ${low} and ${high}`;
}

/** An estimate with its bounds. */
export function expected({ value, low, high }: Estimate): string {
  return percent(value) + between(percent(low), percent(high));
}

export function perSecond(value: number): string {
  return value >= 10 ? count(value) : rough.format(value);
}

/** The time left in round figures: "less than a minute", "3 min", "2 h 10 min". Empty if the speed is not known. */
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

/** What went wrong, with a capital at the beginning; the server writes its reasons in lower case. */
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
