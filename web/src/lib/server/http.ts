/** Requests, and the three ways in which they fail. */
import type { Conflict, SearchState } from "./types";

/** The server could not be reached: worth another try. */
export class Unreachable extends Error {}

/** The server said no, and why. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    detail: string,
  ) {
    super(detail);
  }
}

/** The search has moved on; `state` is where it is now. */
export class MovedOn extends Error {
  constructor(
    detail: string,
    readonly state: SearchState,
  ) {
    super(detail);
  }
}

// The statuses that a proxy answers with while the server behind it cannot be reached.
const AWAY = new Set([502, 503, 504]);

export async function request<T>(method: string, path: string, body?: unknown, signal?: AbortSignal): Promise<T> {
  const init: RequestInit = { method, headers: { Accept: "application/json" } };
  if (signal) init.signal = signal;
  if (body instanceof Blob) {
    init.body = body;
    init.headers = { Accept: "application/json", "Content-Type": "application/octet-stream" };
  } else if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = { Accept: "application/json", "Content-Type": "application/json" };
  }
  let response: Response;
  try {
    response = await fetch(`/api/v1${path}`, init);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Unreachable("The server cannot be reached.");
  }
  if (AWAY.has(response.status)) throw new Unreachable("The server cannot be reached.");
  if (response.status === 204) return undefined as T;
  let content: unknown;
  try {
    content = await response.json();
  } catch (error) {
    if (signal?.aborted) throw error;
    // If the status is a success, the body broke off, and the connection is lost. If it is an error, the body is merely no JSON.
    if (response.ok) throw new Unreachable("The answer of the server broke off.");
    throw new Refused(response.status, `The server answered ${response.status}.`);
  }
  if (response.ok) return content as T;
  if (response.status === 409 && isConflict(content)) throw new MovedOn(content.detail, content.state);
  throw new Refused(response.status, detailOf(content, response.status));
}

function isConflict(content: unknown): content is Conflict {
  return typeof content === "object" && content !== null && "state" in content && "detail" in content;
}

function detailOf(content: unknown, status: number): string {
  if (typeof content === "object" && content !== null && "detail" in content && typeof content.detail === "string")
    return content.detail;
  return `The server answered ${status}.`;
}
