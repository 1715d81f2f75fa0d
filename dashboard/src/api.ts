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

// The first steps: from files to a person who is served.
export interface Brought { id: string; name: string; size: number; format: string }
export interface FoundPlace {
  number: number; name: string; middle: [number, number]; rings: [number, number][][]; hours: number; days: number;
  part: "weekday" | "weekend" | ""; quarter: "nights" | "mornings" | "afternoons" | "evenings";
}
export interface BroughtHistory {
  people?: string[]; readings: number; first: string; last: string; first_bad: string[]; not_read: [string, string][];
  unknown: string[]; files: { file: string; format: string; records: number; bad: number; left_out: object }[];
  places?: FoundPlace[]; labels?: string[]; unexplained?: number;
}
export interface Odds { delta: number; prior: number; limit: number }
export interface Proposed extends Odds { name: string; rule: string; why: string; proposed: boolean; contexts: string[] }
export interface Cost {
  delta: number; vocabulary: string; utility: number; half_width: number; false: number; coarse: number; silent: number;
  holds: boolean | null; limits: Record<string, Odds>; told: Told[];
}
export interface Setup {
  step: number; person: string; zone: string; zone_is_fixed: boolean; slots: number; cut: string; carry: number;
  taken: string[]; limit: number; files: Brought[]; history: BroughtHistory | null;
  names: Record<string, string | null>;
  habits: { days: number; few: boolean; unknown: number; suggestions: Proposed[]; others: Proposed[] } | null;
  secrets: string[];
  costs: {
    choices: Cost[]; weeks: number; day: { date: string; true: string[]; secret: string[] };
    truth: { holds: boolean | null; words: string; remedy: string };
  } | null;
  delta: number | null; vocabulary: string | null;
  job: { name: string; what: string; done: number; total: number } | null;
  problem: string | null;
}
export interface ShownOnce { token: string; secret: string; name: string }
export interface Finished { person: string; application?: ShownOnce; source?: ShownOnce }

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

const setup = "/v1/owner/setup";

export const first = {
  stands: () => ask<Setup>("GET", setup),
  forget: () => ask<null>("DELETE", setup),
  cancel: () => ask<Setup>("DELETE", `${setup}/work`),
  remove: (id: string) => ask<null>("DELETE", `${setup}/files/${encodeURIComponent(id)}`),
  read: (person: string, zone: string, carry: number, user?: string) =>
    ask<Setup>("POST", `${setup}/read`, { person, zone, carry, ...(user === undefined ? {} : { user }) }),
  places: (names: Record<string, string | null>) => ask<Setup>("POST", `${setup}/places`, { names }),
  secrets: (secrets: string[]) => ask<Setup>("POST", `${setup}/secrets`, { secrets }),
  choose: (delta: number, vocabulary: string, accept: boolean) =>
    ask<Setup>("POST", `${setup}/choice`, { delta, vocabulary, accept }),
  finish: (application: string, source: string) => ask<Finished>("POST", `${setup}/finish`, { application, source }),
};

/** Brings a file, and says how much of it is there; the returned function breaks it off. */
export function bring(file: File, far: (share: number) => void, done: (problem: string | null) => void): () => void {
  const request = new XMLHttpRequest(); // fetch does not say how much was sent
  request.open("POST", `${setup}/files?name=${encodeURIComponent(file.name)}`);
  request.setRequestHeader("X-CSRF-Token", csrf);
  request.setRequestHeader("Content-Type", "application/octet-stream");
  request.upload.onprogress = (event) => far(event.total ? event.loaded / event.total : 0);
  request.onload = () => {
    if (request.status === 201) return done(null);
    let words = request.statusText;
    try {
      words = JSON.parse(request.responseText).error ?? words;
    } catch { /* no JSON: what the browser calls it */ }
    done(words);
  };
  request.onerror = () => done("");
  request.onabort = () => done(null);
  request.send(file);
  return () => request.abort();
}

/** Calls `told` at each slot that is told, until the returned function is called. */
export function listen(person: string, told: () => void, live: (on: boolean) => void): () => void {
  const source = new EventSource(`/v1/people/${encodeURIComponent(person)}/stream`);
  source.addEventListener("output", told);
  source.onopen = () => live(true);
  source.onerror = () => live(false);
  return () => source.close();
}
