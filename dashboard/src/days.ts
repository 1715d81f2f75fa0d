// The days that are looked at: read once, then moved by what changed. A few are kept; a year of looking takes no more.

import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, listen, Refused, type Beliefs, type Day, type Days, type Moved } from "./api";
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

const untold = (day: Day): number => {
  const slot = day.slots.findIndex((one) => one.told === null);
  return slot < 0 ? day.slots.length : slot;
};

function withMoved(beliefs: Beliefs, news: Moved): Beliefs {
  const fresh = new Map(news.secrets.map((one) => [one.name, one]));
  const secrets = beliefs.secrets.map((one) => ({ ...one, ...fresh.get(one.name) }) as typeof one);
  return { ...beliefs, secrets };
}

export interface Looked {
  days: Days | null; seen: Seen | null; latest: boolean; live: boolean; problem: string;
  go: (date: string | null) => void; again: () => void;
}

/** The day that is looked at, which is the latest until another is picked; `out` is called where the session is over. */
export function useDays(person: string, out: () => void): Looked {
  const kept = useRef(new Kept()).current;
  const [days, setDays] = useState<Days | null>(null);
  const [picked, setPicked] = useState<string | null>(null); // null: the latest, whichever that is
  const [seen, setSeen] = useState<Seen | null>(null);
  const [live, setLive] = useState(false);
  const [problem, setProblem] = useState("");
  const asked = useRef(0);
  const loading = useRef(false);
  const late = useRef<[string, number] | null>(null); // what was told while a day was read
  const shown = useRef<Seen | null>(null);
  shown.current = seen;

  const tried = useCallback(async (number: number, call: () => Promise<void>) => {
    try {
      await call();
      setProblem("");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) out();
      else if (number === asked.current) setProblem(error instanceof Refused ? error.message : texts.failed);
    }
  }, []);

  const load = useCallback(() => {
    const number = ++asked.current;
    const before = picked === null ? undefined : kept.get(picked);
    if (before) setSeen(before); // at once; what later slots told of it follows
    loading.current = true;
    return tried(number, async () => {
      const found = await api.days(person);
      const date = picked ?? found.last;
      const [day, beliefs] = date ? await Promise.all([api.day(person, date), api.beliefs(person, date)]) : [null, null];
      if (number !== asked.current) return; // another was asked for meanwhile
      setDays(found);
      setSeen(day && beliefs && kept.put(day.date, { day, beliefs }));
    }).finally(() => {
      if (number === asked.current) loading.current = false;
    });
  }, [person, picked]);

  const told = useCallback((date: string, slot: number) => {
    const now = shown.current;
    if (loading.current) return void (late.current = [date, slot]);
    setDays((before) => (before && before.last !== null && date > before.last ? { ...before, last: date } : before));
    if (now === null || (picked === null && now.day.date !== date) || now.beliefs.why) return void load();
    if (now.day.date !== date || slot < untold(now.day)) return;
    const number = asked.current;
    void tried(number, async () => {
      const [day, news] = await Promise.all([api.day(person, date, untold(now.day)), api.moved(person, date)]);
      if (number !== asked.current || shown.current?.day.date !== date) return;
      const slots = [...shown.current.day.slots];
      for (const one of day.slots) slots[one.slot] = one;
      setSeen(kept.put(date, { day: { ...shown.current.day, slots }, beliefs: withMoved(shown.current.beliefs, news) }));
    });
  }, [person, picked, load]);

  useEffect(() => void load(), [load]);
  useEffect(() => listen(person, told, setLive), [person, told]);
  useEffect(() => {
    const [date, slot] = late.current ?? ["", 0];
    late.current = null;
    if (date && !loading.current) told(date, slot);
  }, [seen]);
  const go = (date: string | null) => setPicked(date !== null && date === days?.last ? null : date);
  return { days, seen, latest: picked === null, live, problem, go, again: () => void load() };
}
