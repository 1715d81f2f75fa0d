import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Beliefs, type Day, type Notice } from "./api";
import { BeliefOf, Key } from "./beliefs";
import { Calendar } from "./calendar";
import { useDays, type Looked } from "./days";
import { Sources } from "./health";
import { dayName, moved } from "./locale";
import type { Looking } from "./slots";
import { Strip } from "./strip";
import { texts } from "./texts";
import "./today.css";
import { Week } from "./week";

/** One day: true beside told, and what may be believed of each secret. The latest day moves as slots are told. */
export function Today({ person, out }: { person: string; out: () => void }) {
  const words = texts.today;
  const looked = useDays(person, out);
  const { days, seen, problem } = looked;
  const [at, setAt] = useState<number | null>(null); // the slot that is looked at, in the strip and in every line
  const go = (date: string | null) => {
    setAt(null);
    looked.go(date);
  };
  if (problem && !seen)
    return <p role="alert">{problem} <button type="button" onClick={looked.again}>{texts.again}</button></p>;
  if (!days) return <p role="status">{texts.loading}</p>;
  if (!seen || !days.first || !days.last)
    return <><p role="status">{words.nothing}</p><Sources person={person} /></>;
  return (
    <>
      <Picker person={person} looked={looked} day={seen.day} go={go} />
      {problem && <p class="problem" role="alert">{problem}</p>}
      <OfDay day={seen.day} beliefs={seen.beliefs} at={at} look={setAt} />
      <Week person={person} day={seen.day} last={days.last} go={go} />
      <BeliefsOf person={person} day={seen.day} beliefs={seen.beliefs} at={at} look={setAt} />
      <Sources person={person} />
    </>
  );
}

function Picker({ person, looked, day, go }: {
  person: string; looked: Looked; day: Day; go: (date: string | null) => void;
}) {
  const words = texts.today;
  const { days, latest, live } = looked;
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };
  const chosen = (date: string) => {
    close();
    go(date);
  };
  return (
    <div class="picking">
      <div class="bar">
        <h1>{dayName(day.date)}</h1>
        <div class="picker">
          <button type="button" aria-label={words.earlier} disabled={day.date <= (days?.first ?? "")}
            onClick={() => go(moved(day.date, -1))}>‹</button>
          <button type="button" ref={button} aria-expanded={open} onClick={() => setOpen(!open)}>{words.calendar}</button>
          <button type="button" aria-label={words.later} disabled={day.date >= (days?.last ?? "")}
            onClick={() => go(moved(day.date, 1))}>›</button>
          {!latest && <button type="button" onClick={() => go(null)}>{words.latest}</button>}
          {latest && <span class={live ? "live" : "live off"} role="status">{live ? words.live : words.waiting}</span>}
        </div>
      </div>
      {open && days && <Calendar person={person} days={days} date={day.date} go={chosen} close={close} />}
    </div>
  );
}

function OfDay({ day, beliefs, at, look }: { day: Day; beliefs: Beliefs } & Looking) {
  const words = texts.today;
  const names = beliefs.secrets.flatMap((one) => one.contexts).join("\n");
  const secret = useMemo(() => new Set(names ? names.split("\n") : []), [names]); // the same while the day moves
  const decided = day.slots.filter((one) => one.told !== null);
  const shown = decided.filter((one) => one.told?.context !== undefined || one.told?.node !== undefined);
  return (
    <section aria-label={words.strip}>
      <p class="figure">{decided.length ? words.shown(shown.length, decided.length) : words.nothing}</p>
      {decided.length > 0 && decided.every((one) => one.true === null) && <p class="quiet">{words.truthGone}</p>}
      <Strip day={day} secret={secret} at={at} look={look} />
    </section>
  );
}

/** Whether habits are still true, on which every limit rests: what the data of the last weeks say. */
function Habits({ person, last }: { person: string; last: string }) {
  const [notice, setNotice] = useState<Notice | null>(null);
  useEffect(() => {
    api.notices().then((found) => setNotice(found.find((one) => one.person === person) ?? null), () => undefined);
  }, [person, last]);
  if (notice?.drifted) return <p class="problem drifted" role="alert">{notice.words}</p>;
  return <p class="quiet">{notice?.words ?? texts.today.habitsAsked}</p>;
}

function BeliefsOf({ person, day, beliefs, at, look }: { person: string; day: Day; beliefs: Beliefs } & Looking) {
  const words = texts.today;
  return (
    <section aria-labelledby="beliefs">
      <h2 id="beliefs">{words.beliefs}</h2>
      <p class="quiet">{words.beliefsWords}</p>
      <Habits person={person} last={day.date} />
      {beliefs.why && <p>{words.noBeliefs}</p>}
      {!beliefs.why && beliefs.secrets.length === 0 && <p>{words.noSecrets}</p>}
      {beliefs.secrets.length > 0 && <Key />}
      <div class="cards">
        {beliefs.secrets.map((one) => <BeliefOf key={one.name} secret={one} day={day} at={at} look={look} />)}
      </div>
    </section>
  );
}
