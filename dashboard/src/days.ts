// The days that are looked at: read once, then moved by what changed. A few are kept; a year of looking takes no more.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, listen, Refused, type Beliefs, type Day, type Days, type Moved } from "./api";
import { toldUntil } from "./labels";
import { texts } from "./texts";

export interface Seen { day: Day; beliefs: Beliefs }

const KEPT = 16;

class Kept {
  private readonly seen = new Map<string, Seen>();

  get(date: string): Seen | undefined { return this.seen.get(date); }

  put(date: string, one: Seen): Seen {
    this.seen.delete(date);
    this.seen.set(date, one);
    for (const oldest of this.seen.keys()) {
      if (this.seen.size <= KEPT) break;
      this.seen.delete(oldest);
    }
    return one;
  }
}

function withMoved(beliefs: Beliefs, news: Moved): Beliefs {
  const fresh = new Map(news.secrets.map((one) => [one.name, one]));
  const secrets = beliefs.secrets.map((one) => ({ ...one, ...fresh.get(one.name) }) as typeof one);
  return { ...beliefs, secrets };
}

/** The days there are, and the one that is picked, or the latest, whole. */
async function read(person: string, picked: string | null): Promise<[Days, Seen | null]> {
  const days = await api.days(person);
  const date = picked ?? days.last;
  if (!date) return [days, null];
  const [day, beliefs] = await Promise.all([api.day(person, date), api.beliefs(person, date)]);
  return [days, { day, beliefs }];
}

/** The same day with what was told since: the slots after the last that was, and beliefs without what stands. */
async function movedOn(person: string, { day, beliefs }: Seen): Promise<Seen> {
  const [later, news] = await Promise.all([api.day(person, day.date, toldUntil(day)), api.moved(person, day.date)]);
  const slots = [...day.slots];
  for (const one of later.slots) slots[one.slot] = one;
  return { day: { ...day, slots }, beliefs: withMoved(beliefs, news) };
}

/** The day that the address names: a link to it, a reload and the browser's way back lead there. */
const addressed = (): string | null => /^#today\/(\d{4}-\d{2}-\d{2})$/.exec(location.hash)?.[1] ?? null;

export interface Looked {
  days: Days | null; seen: Seen | null; latest: boolean; live: boolean; problem: string;
  go: (date: string | null) => void; again: () => void;
}

/** The day that is looked at: the latest until another is picked. `out` is called where the session is over. */
export function useDays(person: string, out: () => void): Looked {
  const kept = useRef(new Kept()).current;
  const [days, setDays] = useState<Days | null>(null);
  const [picked, setPicked] = useState<string | null>(addressed()); // null: the latest, whichever that is
  const [seen, setSeen] = useState<Seen | null>(null);
  const [live, setLive] = useState(false);
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const loading = useRef(false);
  const late = useRef<[string, number] | null>(null); // what was told while a day was read
  const shown = useRef<Seen | null>(null);
  shown.current = seen;

  /** Calls that were overtaken by another change nothing. */
  const tried = useCallback(async <T,>(number: number, call: Promise<T>, done: (found: T) => void) => {
    try {
      const found = await call;
      if (number !== asked.current) return;
      done(found);
      setProblem("");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) out();
      else if (number === asked.current) setProblem(error instanceof Refused ? error.message : texts.failed);
    }
  }, []);

  const load = useCallback(async () => {
    const number = ++asked.current;
    const before = picked === null ? undefined : kept.get(picked);
    if (before) setSeen(before); // at once; what later slots told of it follows
    loading.current = true;
    await tried(number, read(person, picked), ([found, one]) => {
      setDays(found);
      setSeen(one && kept.put(one.day.date, one));
    });
    if (number === asked.current) loading.current = false;
  }, [person, picked]);

  const told = useCallback((date: string, slot: number) => {
    const now = shown.current;
    if (loading.current) return void (late.current = [date, slot]);
    setDays((before) => (before && before.last !== null && date > before.last ? { ...before, last: date } : before));
    if (now === null || (picked === null && now.day.date !== date)) return void load();
    if (now.day.date !== date || slot < toldUntil(now.day)) return;
    void tried(asked.current, movedOn(person, now), (one) => {
      const same = shown.current?.day; // answers may overtake each other
      if (same?.date === date && toldUntil(one.day) >= toldUntil(same)) setSeen(kept.put(date, one));
    });
  }, [person, picked, load]);

  useEffect(() => void load(), [load]);
  const heard = useRef(told);
  heard.current = told; // one stream, whichever day is looked at
  useEffect(() => listen(person, (date, slot) => heard.current(date, slot), setLive, out), [person]);
  useEffect(() => {
    if (loading.current || !late.current) return;
    const [date, slot] = late.current;
    late.current = null;
    told(date, slot);
  }, [seen]);
  useEffect(() => {
    const turned = () => setPicked(addressed());
    addEventListener("popstate", turned);
    return () => removeEventListener("popstate", turned);
  }, []);
  const go = (date: string | null) => {
    const one = date === days?.last ? null : date;
    history.pushState(null, "", one === null ? "#today" : `#today/${one}`);
    setPicked(one);
  };
  return { days, seen, latest: picked === null, live, problem, go, again: () => void load() };
}
