// The gateway's routes for the owner. The session's word against forged writes is kept in memory alone.

export interface Told { kind: string; context?: string; node?: string }
/** A row that would be beyond its limit, had the truth been shown: `by` the truth, or by what was told instead. */
export interface InTheWay {
  secret: string; own: boolean; by: "truth" | "told"; start: string; end: string; slots: number;
  belief: number; limit: number;
}
export interface Why { possible: boolean; share: number; rows: InTheWay[]; others: number }
export interface Slot {
  slot: number; start: string; end: string; told: Told | null; true: string | null; why: Why | null;
}
export interface Day { person: string; date: string; zone: string; slots: Slot[] }
export interface Days { first: string | null; last: string | null }
interface Named { name: string; contexts: string[]; delta: number }
type Line = (number | null)[];
export interface Each extends Named { at: "each"; prior: Line; belief: Line; limit: Line }
export interface Any extends Named {
  at: "any"; prior: number | null; belief: number | null; limit: number | null; line: Line | null;
}
export type Secret = Each | Any;
export interface Beliefs { secrets: Secret[]; why: string | null }
/** What changes of beliefs while a day goes on. */
export interface Moved {
  secrets: { name: string; belief: Line | number | null; line?: Line | null }[]; why: string | null;
}
/** A day's labels: "" for silence, null where nothing was decided, or is no longer kept. */
export interface Glance {
  date: string; shown: number; decided: number; told?: (string | null)[]; true?: (string | null)[];
}
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
  // today: a day, or its slots from one on; beliefs, or what moved of them; many days
  day: (person: string, date: string, first = 0) => ask<Day>("GET", `${of(person)}/day?date=${date}&first=${first}`),
  beliefs: (person: string, date: string) => ask<Beliefs>("GET", `${of(person)}/beliefs?date=${date}`),
  moved: (person: string, date: string) => ask<Moved>("GET", `${of(person)}/beliefs?date=${date}&lines`),
  glance: async (person: string, from: string, to: string, strips = false) =>
    (await ask<{ days: Glance[] }>("GET", `${of(person)}/glance?from=${from}&to=${to}${strips ? "&strips" : ""}`)).days,
  tokens: async () => (await ask<{ tokens: Token[] }>("GET", "/v1/owner/tokens")).tokens,
  add: (made: NewToken) => ask<{ token: string; secret: string }>("POST", "/v1/owner/tokens", made),
  revoke: (token: string) => ask<null>("DELETE", `/v1/owner/tokens/${encodeURIComponent(token)}`),
};

/** Calls `told` with the date and slot of each slot that is told, until the returned function is called. */
export function listen(
  person: string, told: (date: string, slot: number) => void, live: (on: boolean) => void,
): () => void {
  const source = new EventSource(`/v1/people/${encodeURIComponent(person)}/stream`);
  source.addEventListener("output", (event) => {
    const [date = "", slot = "0"] = event.lastEventId.split(".");
    told(date, Number(slot));
  });
  source.onopen = () => live(true);
  source.onerror = () => live(false);
  return () => source.close();
}
