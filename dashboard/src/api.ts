// The gateway's routes for the owner. The session's word against forged writes is kept in memory alone.

export interface Told { kind: string; context?: string; node?: string }
export interface Slot { slot: number; start: string; end: string; told: Told | null; true: string | null }
export interface Day { person: string; date: string; zone: string; slots: Slot[] }
export interface Days { first: string | null; last: string | null }
interface Named { name: string; contexts: string[]; delta: number }
type Line = (number | null)[];
export interface Each extends Named { at: "each"; prior: Line; belief: Line; limit: Line }
export interface Any extends Named { at: "any"; prior: number | null; belief: number | null; limit: number | null }
export type Secret = Each | Any;
export interface Beliefs { secrets: Secret[]; why: string | null }
export interface Session { csrf: string | null; people: string[]; views: Record<string, string[]> }
export interface Door { owned: boolean; entered: boolean }
export interface Token {
  token: string; purpose: string; person: string | null; view: string; now_only: boolean; name: string;
  made: number; expires: number | null; used: number | null; revoked: number | null;
}
export interface NewToken { purpose: string; person: string; view?: string; now_only?: boolean; name: string }

export class Refused extends Error {
  constructor(readonly status: number, words: string) { super(words); }
}

let csrf = "";

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const headers: Record<string, string> = {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  if (method !== "GET" && csrf) headers["X-CSRF-Token"] = csrf;
  const answer = await fetch(path, { method, headers, body: body === undefined ? null : JSON.stringify(body) });
  const document = answer.status === 204 ? null : await answer.json();
  if (!answer.ok) throw new Refused(answer.status, document?.error ?? answer.statusText);
  return document as T;
}

async function entered(path: string, body: unknown): Promise<void> {
  csrf = (await ask<{ csrf: string }>("POST", path, body)).csrf;
}

const of = (person: string): string => `/v1/owner/people/${encodeURIComponent(person)}`;

export const api = {
  async session(): Promise<Session> {
    const found = await ask<Session>("GET", "/v1/owner");
    csrf = found.csrf ?? "";
    return found;
  },
  door: () => ask<Door>("GET", "/v1/owner/door"),
  first: (token: string, password: string) => entered("/v1/owner/first", { token, password }),
  login: (password: string) => entered("/v1/owner/login", { password }),
  logout: () => ask<null>("POST", "/v1/owner/logout"),
  days: (person: string) => ask<Days>("GET", `${of(person)}/days`),
  day: (person: string, date: string) => ask<Day>("GET", `${of(person)}/day?date=${date}`),
  beliefs: (person: string, date: string) => ask<Beliefs>("GET", `${of(person)}/beliefs?date=${date}`),
  tokens: async () => (await ask<{ tokens: Token[] }>("GET", "/v1/owner/tokens")).tokens,
  add: (made: NewToken) => ask<{ token: string; secret: string }>("POST", "/v1/owner/tokens", made),
  revoke: (token: string) => ask<null>("DELETE", `/v1/owner/tokens/${encodeURIComponent(token)}`),
};

// --- what applications get
export interface Gets {
  person: string; view: string; groups: Record<string, string[]> | null; rest: string | null; now_only: boolean;
  slots: number; answers: { request: string; body: string }[];
}
export interface ViewGroups { groups: Record<string, string[]>; rest?: string | null }
export interface Views { views: Record<string, ViewGroups>; contexts: string[]; file: string | null }
export const applications = {
  gets: (token: string) => ask<Gets>("GET", `/v1/owner/tokens/${encodeURIComponent(token)}/gets`),
  /** By an application's own token, without the owner. */
  ownGets: async (secret: string): Promise<Gets> => {
    const answer = await fetch("/v1/gets", { headers: { Authorization: `Bearer ${secret}` }, credentials: "omit" });
    const document = await answer.json();
    if (!answer.ok) throw new Refused(answer.status, document.error);
    return document as Gets;
  },
  views: () => ask<Views>("GET", "/v1/owner/views"),
  write: (name: string, view: ViewGroups) => ask<Views>("PUT", `/v1/owner/views/${encodeURIComponent(name)}`, view),
  remove: (name: string) => ask<Views>("DELETE", `/v1/owner/views/${encodeURIComponent(name)}`),
};

// --- the map of places
type Position = [number, number];
export interface Placed {
  number: number; name: string; middle: Position; rings: Position[][]; radius: number | null; area: number;
  secret: boolean; within: string | null; waits: boolean;
}
export interface Waiting { file: string; learn: string; settings: Record<string, string> }
export interface Drawn {
  version: string; file: string | null; places: Placed[]; no_tree: string | null; waiting: Waiting | null;
  tiles: { least: number; most: number } | null; said?: { at_once: boolean; words: string };
}
export interface Suggestion { middle: Position; radius: number; hours: number; days: number }
export interface Unexplained {
  dots: Position[]; count: number; share: number | null; suggestions: Suggestion[]; hours: Record<string, number>;
  days: number;
}
export type DrawnShape = { middle: Position; radius: number } | { points: Position[] };
export type MapChange =
  | { do: "add"; name: string; shape: DrawnShape }
  | { do: "redraw"; number: number; shape: DrawnShape }
  | { do: "rename"; name: string; to: string }
  | { do: "remove"; number: number };
export const maps = {
  map: (person: string) => ask<Drawn>("GET", `${of(person)}/map`),
  change: (person: string, version: string, change: MapChange) =>
    ask<Drawn>("POST", `${of(person)}/map`, { version, ...change }),
  discard: (person: string) => ask<Drawn>("DELETE", `${of(person)}/map/drawn`),
  unexplained: (person: string) => ask<Unexplained>("GET", `${of(person)}/map/unexplained`),
};

/** Calls `told` at each slot that is told, until the returned function is called. */
export function listen(person: string, told: () => void, live: (on: boolean) => void): () => void {
  const source = new EventSource(`/v1/people/${encodeURIComponent(person)}/stream`);
  source.addEventListener("output", told);
  source.onopen = () => live(true);
  source.onerror = () => live(false);
  return () => source.close();
}
