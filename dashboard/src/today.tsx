import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, listen, Refused, type Beliefs, type Day, type Days } from "./api";
import { BeliefOf } from "./beliefs";
import { dayName, moved } from "./locale";
import { Strip } from "./strip";
import { texts } from "./texts";

/** One day: true beside told, and what may be believed of each secret. The latest day moves as slots are told. */
export function Today({ person, out }: { person: string; out: () => void }) {
  const words = texts.today;
  const [days, setDays] = useState<Days | null>(null);
  const [picked, setPicked] = useState<string | null>(null); // null: the latest, whichever that is
  const [day, setDay] = useState<Day | null>(null);
  const [beliefs, setBeliefs] = useState<Beliefs | null>(null);
  const [live, setLive] = useState(false);
  const [problem, setProblem] = useState("");
  const [at, setAt] = useState<number | null>(null); // the slot that is looked at, in the strip and in every line
  const asked = useRef(0);

  const load = useCallback(async () => {
    const number = ++asked.current;
    try {
      const found = await api.days(person);
      const date = picked ?? found.last;
      const [read, believed] = date
        ? await Promise.all([api.day(person, date), api.beliefs(person, date)])
        : [null, null];
      if (number !== asked.current) return; // another was asked for meanwhile
      setDays(found);
      setDay(read);
      setBeliefs(believed);
      setProblem("");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) out();
      else if (number === asked.current) setProblem(error instanceof Refused ? error.message : texts.failed);
    }
  }, [person, picked]);

  useEffect(() => void load(), [load]);
  useEffect(() => listen(person, () => void load(), setLive), [person, load]);

  const go = (date: string | null) => {
    setAt(null);
    setPicked(date !== null && date === days?.last ? null : date);
  };
  if (problem && !day)
    return <p role="alert">{problem} <button onClick={load}>{texts.again}</button></p>;
  if (!days) return <p role="status">{texts.loading}</p>;
  if (!day || !days.first || !days.last) return <p role="status">{words.nothing}</p>;

  const secret = new Set(beliefs?.secrets.flatMap((one) => one.contexts) ?? []);
  const decided = day.slots.filter((one) => one.told !== null);
  const shown = decided.filter((one) => one.told?.context !== undefined || one.told?.node !== undefined);
  return (
    <>
      <div class="bar">
        <h1>{dayName(day.date)}</h1>
        <div class="picker">
          <button aria-label={words.earlier} disabled={day.date <= days.first} onClick={() => go(moved(day.date, -1))}>
            ‹
          </button>
          <input type="date" aria-label={words.pick} value={day.date} min={days.first} max={days.last}
            onChange={(event) => event.currentTarget.value && go(event.currentTarget.value)} />
          <button aria-label={words.later} disabled={day.date >= days.last} onClick={() => go(moved(day.date, 1))}>
            ›
          </button>
          {picked && <button onClick={() => go(null)}>{words.latest}</button>}
          {!picked && <span class={live ? "live" : "live off"} role="status">{live ? words.live : words.waiting}</span>}
        </div>
      </div>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <section aria-label={words.strip}>
        <p class="figure">{decided.length ? words.shown(shown.length, decided.length) : words.nothing}</p>
        <Strip day={day} secret={secret} at={at} look={setAt} />
      </section>
      <section aria-labelledby="beliefs">
        <h2 id="beliefs">{words.beliefs}</h2>
        <p class="quiet">{words.beliefsWords}</p>
        {beliefs?.why && <p>{words.noBeliefs}</p>}
        {beliefs && !beliefs.why && beliefs.secrets.length === 0 && <p>{words.noSecrets}</p>}
        <div class="cards">
          {beliefs?.secrets.map((one) => <BeliefOf key={one.name} secret={one} day={day} at={at} look={setAt} />)}
        </div>
      </section>
    </>
  );
}
