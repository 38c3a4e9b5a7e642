/**
 * Every address of the API. Reads and new searches are repeated until the server answers; changes of a search are
 * left to the outbox.
 */
import { connection } from "./connection.svelte";
import { request } from "./http";
import { freshKey } from "./idempotencyKey";
import { persist } from "./retry";
import type {
  AdviceAt,
  AuditState,
  Classes,
  CollectionInfo,
  Explanation,
  History,
  NewSearch,
  PicturePage,
  ResultPage,
  SearchInfo,
  SearchState,
  SkippedFile,
  Strategy,
  Thresholds,
  Upload,
} from "./types";

const part = encodeURIComponent;

function read<T>(path: string, signal?: AbortSignal): Promise<T> {
  return persist(() => request<T>("GET", path, undefined, signal), connection, signal);
}

/** Make one new search, however often the request has to be repeated until it is answered. */
function begin(path: string, content: object): Promise<SearchState> {
  const body = { ...content, key: freshKey() };
  return persist(() => request<SearchState>("POST", path, body), connection);
}

export const api = {
  collections: () => read<CollectionInfo[]>("/collections"),
  collection: (c: string) => read<CollectionInfo>(`/collections/${part(c)}`),
  skipped: (c: string) => read<SkippedFile[]>(`/collections/${part(c)}/skipped`),
  index: (c: string) => request<CollectionInfo>("POST", `/collections/${part(c)}/index`),
  pictures: (c: string, offset: number, limit: number, signal?: AbortSignal) =>
    read<PicturePage>(`/collections/${part(c)}/pictures?offset=${offset}&limit=${limit}`, signal),
  upload: (c: string, picture: Blob) => request<Upload>("POST", `/collections/${part(c)}/uploads`, picture),
  strategies: () => read<Strategy[]>("/strategies"),
  searches: () => read<SearchInfo[]>("/searches"),
  create: (search: NewSearch) => begin("/searches", search),
  search: (s: string, signal?: AbortSignal) => read<SearchState>(`/searches/${part(s)}`, signal),
  rename: (s: string, name: string) => request<SearchInfo>("PATCH", `/searches/${part(s)}`, { name }),
  remove: (s: string) => request<void>("DELETE", `/searches/${part(s)}`),
  /** A new search that begins with what a file says of pictures. */
  createFromLabels: (c: string, file: File) => {
    const query = new URLSearchParams({ name: file.name, key: freshKey() });
    return persist(() => request<SearchState>("POST", `/collections/${part(c)}/labels?${query}`, file), connection);
  },
  duplicate: (s: string) => begin(`/searches/${part(s)}/duplicate`, {}),
  /** A new search from a file that was saved. */
  openSaved: (c: string, file: Blob, name: string) => {
    const path = `/collections/${part(c)}/searches?${new URLSearchParams({ name, key: freshKey() })}`;
    return persist(() => request<SearchState>("POST", path, file), connection);
  },
  classes: (c: string, searches: readonly string[], split: number, conflicts: string | null) =>
    read<Classes>(`/collections/${part(c)}/classes?${classes(searches, split, conflicts)}`),
  results: (s: string, offset: number, limit: number, arranged: Record<string, string>, signal?: AbortSignal) =>
    read<ResultPage>(`/searches/${part(s)}/results?${new URLSearchParams({ offset: `${offset}`, limit: `${limit}`, ...arranged })}`, signal),
  stack: (s: string, picture: number) => read<ResultPage>(`/searches/${part(s)}/stacks/${picture}`),
  thresholds: (s: string, signal?: AbortSignal) => read<Thresholds>(`/searches/${part(s)}/thresholds`, signal),
  /** Without a threshold, what would be taken is what the results begin with. */
  advice: (s: string, threshold: number | null) =>
    read<AdviceAt>(`/searches/${part(s)}/advice${threshold === null ? "" : `?threshold=${threshold}`}`),
  audit: (s: string) => read<AuditState>(`/searches/${part(s)}/audit`),
  history: (s: string) => read<History>(`/searches/${part(s)}/history`),
  explanation: (s: string, picture: number) => read<Explanation>(`/searches/${part(s)}/explanation/${picture}`),
};

function classes(searches: readonly string[], split: number, conflicts: string | null): URLSearchParams {
  const query = new URLSearchParams(searches.map((search) => ["search", search]));
  query.set("split", `${split}`);
  if (conflicts) query.set("conflicts", conflicts);
  return query;
}

export type DatasetLayout = "folders" | "imagefolder" | "coco";
export type ExportFormat = "csv" | "json" | "paths" | "zip";

/** Addresses for the browser itself: pictures, downloads, events. */
export const urls = {
  thumbnail: (c: string, id: number) => `/api/v1/collections/${part(c)}/pictures/${id}/thumbnail`,
  view: (c: string, id: number) => `/api/v1/collections/${part(c)}/pictures/${id}/view`,
  original: (c: string, id: number) => `/api/v1/collections/${part(c)}/pictures/${id}/original`,
  upload: (c: string, u: string) => `/api/v1/collections/${part(c)}/uploads/${part(u)}/thumbnail`,
  /** The thumbnail of a picture of the collection or from outside, if one is known. */
  either: (c: string, id: number | null, u: string | null) =>
    id !== null ? urls.thumbnail(c, id) : u !== null ? urls.upload(c, u) : null,
  events: (c: string) => `/api/v1/collections/${part(c)}/events`,
  searchFile: (s: string) => `/api/v1/searches/${part(s)}/file`,
  dataset: (c: string, searches: readonly string[], layout: DatasetLayout, split: number, conflicts: string | null) =>
    `/api/v1/collections/${part(c)}/dataset?layout=${layout}&${classes(searches, split, conflicts)}`,
  export: (s: string, format: ExportFormat, choice: ({ threshold: number } | { top: number }) & { stacks?: "whole" | "best" }) =>
    `/api/v1/searches/${part(s)}/export?${new URLSearchParams({ format, ...Object.fromEntries(Object.entries(choice).map(([name, value]) => [name, String(value)])) })}`,
};
