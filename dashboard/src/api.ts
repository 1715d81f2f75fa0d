// The gateway's routes for the owner, relative to the page: a proxy may put both below a prefix of its own. The session's
// word against forged writes is kept in memory alone.

import { setNow } from "./locale";

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
/** `next` is when the slot ends that is decided next. */
export interface Days { first: string | null; last: string | null; next: string; zone: string; unpromised: string | null }
/** How long the window of a secret at any time is; `sliding` where it begins on every day. */
export interface Span { over: "day" | "week" | "month" | number; sliding: boolean }
interface Named extends Span { name: string; contexts: string[]; delta: number }
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
/** `account` is whose account it is; null for who administers, who sees to everybody without one. */
export interface Session { csrf: string | null; account: string | null; people: string[]; views: Record<string, string[]> }
/** The weeks before the first day, simulated; `days` is null until that is done, `kept` whether there is anything. */
export interface Past {
  kept: boolean; times: string[]; secret: string[]; days: Glance[] | null; problem: string | null;
  job: { done: number; total: number } | null;
}
/** Days on which nothing is told, and the earliest that may be announced now. */
export interface PausedDays { earliest: string; today: string; pauses: { first: string; last: string }[] }
/** What last night's look at somebody's habits found. */
export interface Notice { person: string; date: string; drifted: boolean; holds: boolean | null; words: string }
/** Whether everything works, and what does not. */
export interface Ready { ready: boolean; reasons?: { part: string; words: string }[] }
/** `use` says whether it counts at present, another does, or the settings leave it out. */
export interface Source {
  source: string; heard: string; usual: number; quiet: boolean; use: "believed" | "others" | "ignored";
}
/** When each source was heard last; what came and could not be used, by what was wrong. */
export interface Heard {
  sources: Source[]; refused: Record<string, number>; now: number;
  /** The one that counts, by the settings; null for the one that moved last. */
  phone: string | null;
  /** Whether the broker is away; null where there is none. */
  broker: boolean | null;
}
export interface Door { owned: boolean; entered: boolean; accounts: boolean }
/** `invited` is when an invitation ends that was not accepted. */
export interface Account { person: string; account: boolean; open: boolean; invited: number | null }
export interface Token {
  token: string; purpose: string; person: string | null; view: string; now_only: boolean; name: string;
  made: number; expires: number | null; used: number | null; revoked: number | null;
}
export interface NewToken { purpose: string; person: string; view?: string; now_only?: boolean; name: string }

// The first steps: from files to a person who is served.
export interface Brought { id: string; name: string; size: number; format: string }
export interface FoundPlace {
  number: number; name: string; colour: string; middle: [number, number]; rings: [number, number][][]; hours: number; days: number;
  part: "weekday" | "weekend" | ""; from: string; to: string;
}
export interface BroughtHistory {
  people?: string[]; readings: number; first: string; last: string; first_bad: string[]; not_read: [string, string][];
  unknown: string[]; files: { file: string; format: string; records: number; bad: number; left_out: object }[];
  places?: FoundPlace[]; labels?: string[]; unexplained?: number;
  /** Where nights were spent, what is odd about that, and whether the source seems to report changes alone. */
  zone?: string | null; zone_warning?: string | null; changes_only?: boolean;
}
/** `sure`: the hours at which anybody who knows the routine is sure already; empty where that is always, null never. */
export interface Odds { delta: number; prior: number; limit: number; sure: string | null }
export interface Proposed extends Odds { name: string; rule: string; why: string; proposed: boolean; contexts: string[] }
export interface Cost {
  delta: number; vocabulary: string; utility: number; half_width: number; false: number; coarse: number; silent: number;
  holds: boolean | null; limits: Record<string, Odds>; told: Told[];
}
/** What keeping part of delta back costs, of one choice; `share` is 0 where only silence would do. */
export interface Held {
  delta: number; vocabulary: string; share: number; shown: number; instead: number; beyond: number; without: number;
  weeks: number; enough: number; guaranteed: boolean;
}
export interface Setup {
  step: number; person: string; zone: string; zone_is_fixed: boolean; slots: number; cut: string; carry: number;
  taken: string[]; limit: number; tiles: Drawn["tiles"]; files: Brought[]; home_assistant: boolean; entity: string | null; history: BroughtHistory | null;
  names: Record<string, string | null>;
  habits: {
    days: number; few: boolean; unknown: number; colours: Record<string, string>; suggestions: Proposed[];
    others: Proposed[];
  } | null;
  secrets: string[]; doubles: boolean;
  costs: {
    choices: Cost[]; weeks: number; day: { date: string; true: string[]; secret: string[] };
    truth: { holds: boolean | null; words: string; remedy: string };
  } | null;
  delta: number | null; vocabulary: string | null;
  held: Held | null; share: number | null;
  job: { name: string; what: string; done: number; total: number } | null;
  problem: string | null;
}
export interface Tracker { entity: string; name: string }
export interface ShownOnce { token: string; secret: string; name: string }
export interface Finished { person: string; application?: ShownOnce; source?: ShownOnce }

export class Refused extends Error {
  constructor(readonly status: number, words: string) { super(words); }
}

/** The whole address of a route, for somebody outside this page. */
export const whole = (path: string): string => new URL(path, document.baseURI).href;

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

const of = (person: string): string => `v1/owner/people/${encodeURIComponent(person)}`;

export const api = {
  async session(): Promise<Session> {
    const found = await ask<Session>("GET", "v1/owner");
    csrf = found.csrf ?? "";
    return found;
  },
  door: () => ask<Door>("GET", "v1/owner/door"),
  first: (token: string, password: string) => entered("v1/owner/first", { token, password }),
  login: (password: string, person: string) =>
    entered("v1/owner/login", person === "" ? { password } : { password, person }),
  accept: (invitation: string, password: string) => entered("v1/owner/invitation", { invitation, password }),
  accounts: async () => (await ask<{ accounts: Account[] }>("GET", "v1/owner/accounts")).accounts,
  invite: async (person: string) =>
    (await ask<{ invitation: string }>("POST", `v1/owner/accounts/${encodeURIComponent(person)}`)).invitation,
  removeAccount: (person: string) => ask<null>("DELETE", `v1/owner/accounts/${encodeURIComponent(person)}`),
  ready: async () => (await (await fetch("readyz")).json()) as Ready, // 503 is an answer, too
  acceptClock: () => ask<null>("POST", "v1/owner/clock"),
  sources: async (person: string): Promise<Heard> => {
    const found = await ask<Heard>("GET", `${of(person)}/sources`);
    setNow(found.now);
    return found;
  },
  logout: () => ask<null>("POST", "v1/owner/logout"),
  everywhere: () => ask<null>("POST", "v1/owner/logout/everywhere"),
  password: (password: string, chosen: string) => entered("v1/owner/password", { password, new: chosen }),
  days: (person: string) => ask<Days>("GET", `${of(person)}/days`),
  // today: a day, or its slots from one on; beliefs, or what moved of them; many days
  day: (person: string, date: string, first = 0) => ask<Day>("GET", `${of(person)}/day?date=${date}&first=${first}`),
  beliefs: (person: string, date: string) => ask<Beliefs>("GET", `${of(person)}/beliefs?date=${date}`),
  moved: (person: string, date: string) => ask<Moved>("GET", `${of(person)}/beliefs?date=${date}&lines`),
  glance: async (person: string, from: string, to: string, strips = false) =>
    (await ask<{ days: Glance[] }>("GET", `${of(person)}/glance?from=${from}&to=${to}${strips ? "&strips" : ""}`)).days,
  past: (person: string) => ask<Past>("GET", `${of(person)}/past`),
  pauses: (person: string) => ask<PausedDays>("GET", `${of(person)}/pauses`),
  pause: (person: string, first: string, last: string) => ask<PausedDays>("POST", `${of(person)}/pauses`, { first, last }),
  unpause: (person: string, first: string) => ask<PausedDays>("DELETE", `${of(person)}/pauses/${first}`),
  colours: (person: string) => ask<Record<string, string>>("GET", `${of(person)}/colours`),
  tokens: async () => (await ask<{ tokens: Token[] }>("GET", "v1/owner/tokens")).tokens,
  add: (made: NewToken) => ask<{ token: string; secret: string }>("POST", "v1/owner/tokens", made),
  notices: async () => (await ask<{ notices: Notice[] }>("GET", "v1/owner/notices")).notices,
  revoke: (token: string) => ask<null>("DELETE", `v1/owner/tokens/${encodeURIComponent(token)}`),
};

// --- what applications get
export interface Gets {
  person: string; view: string; now_only: boolean;
  /** For the owner alone: which contexts a view joins. */
  groups?: Record<string, string[]> | null; rest?: string | null;
  slots: number; answers: { request: string; body: string }[];
}
export interface ViewGroups { groups: Record<string, string[]>; rest?: string | null }
export interface Views { views: Record<string, ViewGroups>; contexts: string[]; file: string | null }
export const applications = {
  gets: (token: string) => ask<Gets>("GET", `v1/owner/tokens/${encodeURIComponent(token)}/gets`),
  /** By an application's own token, without the owner. */
  ownGets: async (secret: string): Promise<Gets> => {
    const answer = await fetch("v1/gets", { headers: { Authorization: `Bearer ${secret}` }, credentials: "omit" });
    const document = await answer.json();
    if (!answer.ok) throw new Refused(answer.status, document.error);
    return document as Gets;
  },
  /** The present, as an application asks for it. */
  now: async (address: string, secret: string): Promise<{ status: number; body: string }> => {
    const answer = await fetch(address, { headers: { Authorization: `Bearer ${secret}` }, credentials: "omit" });
    const body = await answer.text();
    if (!answer.ok) throw new Refused(answer.status, (JSON.parse(body) as { error?: string }).error ?? answer.statusText);
    return { status: answer.status, body };
  },
  views: () => ask<Views>("GET", "v1/owner/views"),
  write: (name: string, view: ViewGroups) => ask<Views>("PUT", `v1/owner/views/${encodeURIComponent(name)}`, view),
  remove: (name: string) => ask<Views>("DELETE", `v1/owner/views/${encodeURIComponent(name)}`),
};

// --- the map of places
type Position = [number, number];
export interface Placed {
  number: number; name: string; middle: Position; rings: Position[][]; radius: number | null; area: number;
  secret: boolean; within: string | null; waits: boolean; colour: string;
}
export interface Waiting { file: string; learn: string; settings: Record<string, string> }
export interface Drawn {
  version: string; file: string | null; places: Placed[]; no_tree: string | null; waiting: Waiting | null;
  tiles: { least: number; most: number; vector: boolean } | null; said?: { at_once: boolean; words: string };
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

// --- the routine, learned anew
interface Guess { prior: number; limit: number }
export interface RoutineFound {
  days: number; few: boolean; first: string; last: string; same: boolean; new: string[]; gone: string[]; from: string;
  truth: { holds: boolean | null; words: string };
  secrets: { name: string; before: Guess | null; after: Guess | null }[];
}
/** `can` says why it cannot be changed here; `stale` that the map was changed since it was learned. */
export interface RoutineNow {
  can: string | null; learned: { until: string | null }; past: boolean; stale: boolean; problem: string | null;
  coming: { from: string; new: string[]; gone: string[] } | null; result: RoutineFound | null;
  job: { name: string; what: string; done: number; total: number } | null;
}
export const routine = {
  now: (person: string) => ask<RoutineNow>("GET", `${of(person)}/routine`),
  learn: (person: string, weeks: number) =>
    ask<RoutineNow>("POST", `${of(person)}/routine/learn`, weeks ? { weeks } : {}),
  discard: (person: string) => ask<RoutineNow>("DELETE", `${of(person)}/routine/learn`),
  start: (person: string, from: string, accept: boolean) =>
    ask<RoutineNow>("POST", `${of(person)}/routine/announce`, { from, accept }),
  undo: (person: string) => ask<RoutineNow>("DELETE", `${of(person)}/routine/announce`),
};

// --- the first run
const setup = "v1/owner/setup";

export const first = {
  stands: () => ask<Setup>("GET", setup),
  forget: () => ask<null>("DELETE", setup),
  cancel: () => ask<Setup>("DELETE", `${setup}/work`),
  trackers: () => ask<{ trackers: Tracker[] }>("GET", `${setup}/home-assistant`),
  track: (entity: string) => ask<{ file: string | null }>("POST", `${setup}/home-assistant`, { entity }),
  remove: (id: string) => ask<null>("DELETE", `${setup}/files/${encodeURIComponent(id)}`),
  read: (person: string, zone: string, carry: number, user?: string) =>
    ask<Setup>("POST", `${setup}/read`, { person, zone, carry, ...(user === undefined ? {} : { user }) }),
  places: (names: Record<string, string | null>) => ask<Setup>("POST", `${setup}/places`, { names }),
  secrets: (secrets: string[], doubles: boolean) => ask<Setup>("POST", `${setup}/secrets`, { secrets, doubles }),
  hold: (delta: number, vocabulary: string) => ask<Setup>("POST", `${setup}/hold`, { delta, vocabulary }),
  choose: (delta: number, vocabulary: string, accept: boolean, hold: boolean) =>
    ask<Setup>("POST", `${setup}/choice`, { delta, vocabulary, accept, hold }),
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

const RETRY = 3000; // milliseconds until a stream that the browser gave up is asked for again

/**
 * Calls `told` with the date and slot of each slot that is told, until the returned function is called.
 * A browser gives a stream up for good where the answer is an error, such as 401 after another password or 503 from a
 * proxy while the gateway starts: then the session is asked for first. `out` is called where it is over.
 */
export function listen(
  person: string, told: (date: string, slot: number) => void, live: (on: boolean) => void, out: () => void,
): () => void {
  let source: EventSource | null = null;
  let timer = 0;
  const open = () => {
    const stream = source = new EventSource(`v1/people/${encodeURIComponent(person)}/stream`);
    stream.addEventListener("output", (event) => {
      const [date = "", slot = "0"] = event.lastEventId.split(".");
      told(date, Number(slot));
    });
    stream.onopen = () => live(true);
    stream.onerror = () => {
      live(false);
      if (stream.readyState === EventSource.CLOSED) timer = window.setTimeout(again, RETRY);
    };
  };
  const again = async () => {
    try {
      await api.session();
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return out();
      timer = window.setTimeout(again, RETRY);
      return;
    }
    open();
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

// Secrets: in force, announced, drafts and their previews.

/** What a secret is declared by; `begins` null lets the gateway say where a window over the cut begins. */
export interface Terms extends Span {
  name: string; contexts: string[]; slots: number[] | null; delta: number | null; at: "each" | "any";
  begins: number | null; cap: number | null;
}
export interface Declared extends Terms {
  gain: number; prior: number | null; prior_at: number | null; mean: number | null; limit: number | null;
  warnings: string[]; by_slot: number[];
}
export interface InForce { from: string; secrets: Declared[] }
export interface AlreadyTold { secret: string; date: string; slot: number; belief: number }
export interface SecretsDocument {
  person: string; clock: { slots: number; zone: string; cut: string }; times: string[]; contexts: string[];
  in_force: InForce; announced: InForce[]; draft: { of: string; delta: number }; already_told: AlreadyTold[];
  fixed: string | null;
}
export interface Meant { secrets: Declared[]; same: boolean }
export interface Tried extends Meant { from: string }
export interface Shown {
  utility: { mean: number; half_width: number }; true: number; coarse: number; false: number; silent: number;
  holds: boolean | null; rests_on: string; worst: { secret: string; prior: number; belief: number } | null;
}
export interface PreviewedDay extends Day { slots: (Slot & { would: Told | null })[] }
export interface Previewed {
  weeks: number; before: Shown; after: Shown; difference: { mean: number; half_width: number }; days: PreviewedDay[];
}
export interface PreviewState { done: number; total: number | null; result: Previewed | null; problem: string | null }

/** Terms alone: what the gateway says of a secret is not sent back to it. */
const bare = ({ name, contexts, slots, delta, at, begins, cap, over, sliding }: Terms): object =>
  ({ name, contexts, slots, delta, at, begins, cap, ...(at === "any" && { over, sliding }) });

export const secrets = {
  read: (person: string) => ask<SecretsDocument>("GET", `${of(person)}/secrets`),
  check: async (person: string, draft: Terms[]): Promise<Meant> => {
    const path = `${of(person)}/secrets/check`;
    const meant = await ask<Meant & { refused?: string }>("POST", path, { secrets: draft.map(bare) });
    if (meant.refused !== undefined) throw new Refused(400, meant.refused);
    return meant;
  },
  try: (person: string, draft: Terms[]) =>
    ask<Tried>("POST", `${of(person)}/secrets/try`, { secrets: draft.map(bare) }),
  save: (person: string, draft: Terms[], from: string) =>
    ask<SecretsDocument>("PUT", `${of(person)}/secrets`, { secrets: draft.map(bare), of: from }),
  preview: async (person: string, draft: Terms[]) =>
    (await ask<{ preview: string }>("POST", `${of(person)}/secrets/preview`, { secrets: draft.map(bare) })).preview,
  previewed: (person: string, name: string) => ask<PreviewState>("GET", `${of(person)}/secrets/preview/${name}`),
  /** Also as the page is left: nobody waits for the answer. */
  cancel: (person: string, name: string) => void fetch(`${of(person)}/secrets/preview/${name}`, {
    method: "DELETE", headers: { "X-CSRF-Token": csrf }, keepalive: true,
  }).catch(() => undefined),
};
