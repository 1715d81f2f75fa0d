import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Day, type Glance, type Past } from "./api";
import { colour, label, onWallClock, runs, toldOf } from "./labels";
import { clock, dayName, monthName, moved, movedMonths, shortDay, timeOf, weekOf } from "./locale";
import { Names, Strip } from "./strip";
import { texts } from "./texts";

const WEEK = 7; // days that the gateway tells of at once
const ZOOMS = [1, 2, 4, 8]; // how many times the hours are drawn larger
const POLL = 600; // milliseconds between two looks at work that is under way

/** The hours that are seen of a day: how large, and from which part on. */
interface Hours { zoom: number; part: number }

/** Days below each other, true above told, with the hours that they are seen by. */
export function Days({ days, times, here, go, month }: {
  days: Glance[]; times: string[]; here: string | null; go: (date: string) => void; month: boolean;
}) {
  const words = texts.time;
  const [{ zoom, part }, setHours] = useState<Hours>({ zoom: 1, part: 0 });
  const long = Math.max(1, Math.ceil(times.length / zoom));
  const first = Math.min(part * long, times.length - long);
  const from = times[first] ?? "";
  const to = times[(first + long) % times.length] ?? "";
  const larger = (step: 1 | -1) => setHours((before) => {
    const next = ZOOMS[ZOOMS.indexOf(before.zoom) + step] ?? before.zoom;
    return { zoom: next, part: Math.floor((before.part * next) / before.zoom) };
  });
  const marks = [0, 1, 2, 3].map((quarter) => times[first + Math.floor((quarter * long) / 4)] ?? "");
  return (
    <div class={month ? "time month" : "time"}>
      <div class="acts zoom" role="group" aria-label={words.zoom}>
        <button type="button" class="quiet" aria-label={words.wider} disabled={zoom === 1} onClick={() => larger(-1)}>−</button>
        <button type="button" class="quiet" aria-label={words.closer} disabled={zoom === ZOOMS.at(-1)}
          onClick={() => larger(1)}>+</button>
        <button type="button" class="quiet" aria-label={words.earlier} disabled={part === 0}
          onClick={() => setHours({ zoom, part: part - 1 })}>‹</button>
        <button type="button" class="quiet" aria-label={words.later} disabled={first + long >= times.length}
          onClick={() => setHours({ zoom, part: part + 1 })}>›</button>
        <span role="status">{zoom === 1 ? words.wholeDay : words.hours(timeOf(from), timeOf(to))}</span>
      </div>
      <ol>
        {days.map((one) => (
          <Row key={one.date} {...{ one, first, long, month }} here={one.date === here} go={go} named={zoom > 2} />
        ))}
      </ol>
      <p class="hours" aria-hidden="true">{marks.map((one, k) => <span key={k}>{one && timeOf(one)}</span>)}</p>
    </div>
  );
}

function Row({ one, here, go, first, long, month, named }: {
  one: Glance; here: boolean; go: (date: string) => void; first: number; long: number; month: boolean; named: boolean;
}) {
  return (
    <li>
      <button type="button" class="quiet" aria-current={here ? "date" : undefined} disabled={!one.decided}
        onClick={() => go(one.date)}>
        <span>{shortDay(one.date)}</span>
        <Small one={one} first={first} long={long} named={named && !month} />
        <span class="share">{one.decided ? texts.time.share(one.shown / one.decided) : ""}</span>
      </button>
    </li>
  );
}

/** True above told, a block for each run of slots that are alike. */
function Small({ one, first, long, named }: { one: Glance; first: number; long: number; named: boolean }) {
  const [above, below] = useMemo(() => {
    const seen = (labels: (string | null)[] | undefined) => (labels ?? []).slice(first, first + long);
    return [seen(one.true), seen(one.told)];
  }, [one, first, long]);
  const block = (labels: (string | null)[], y: number) => runs(labels).map((run) => (
    <rect key={`${y}.${run.from}`} x={run.from} width={run.length} y={y} height={10}
      fill={run.label ? colour(run.label) : "var(--silence)"} />
  ));
  return (
    <span class="small">
      <svg viewBox={`0 0 ${long} 22`} preserveAspectRatio="none" aria-hidden="true">{block(above, 0)}{block(below, 12)}</svg>
      {named && <Names labels={padded(above, long)} row={0} />}
      {named && <Names labels={padded(below, long).map((name) => name || null)} row={1} />}
    </span>
  );
}

const padded = (labels: (string | null)[], long: number): (string | null)[] =>
  Array.from({ length: long }, (_, k) => labels[k] ?? null);

/** A day as the glances have it, from the day itself: it moves with it. */
function glanceOf(day: Day): Glance {
  const told = day.slots.map((one) => (one.told === null ? null : (label(one.told) ?? "")));
  return {
    date: day.date, told, true: day.slots.map((one) => one.true),
    decided: told.filter((one) => one !== null).length, shown: told.filter((one) => one).length,
  };
}

/** The dates of a week or a month. */
function datesOf(date: string, month: boolean): string[] {
  const first = month ? `${date.slice(0, 7)}-01` : weekOf(date);
  const end = month ? movedMonths(first, 1) : moved(first, WEEK);
  const found: string[] = [];
  for (let one = first; one < end; one = moved(one, 1)) found.push(one);
  return found;
}

/** The week or the month that is looked at; each day leads to itself. */
export function Time({ person, day, last, go }: {
  person: string; day: Day; last: string; go: (date: string) => void;
}) {
  const words = texts.time;
  const [month, setMonth] = useState(false);
  const [read, setRead] = useState<Glance[]>([]);
  const [first = day.date, ...rest] = datesOf(day.date, month);
  const dates = [first, ...rest];
  useEffect(() => {
    let wanted = true;
    const weeks = dates.filter((_, k) => k % WEEK === 0).filter((one) => one <= last);
    const until = dates.at(-1) ?? first;
    Promise.all(weeks.map((one) => {
      const end = moved(one, WEEK - 1);
      return api.glance(person, one, end < until ? end : until, true);
    })).then((found) => wanted && setRead(found.flat()), () => undefined);
    return () => void (wanted = false);
  }, [person, first, month, last]); // the day that is looked at moves by itself
  const own = useMemo(() => glanceOf(day), [day]);
  const times = useMemo(() => {
    const time = clock(day.zone);
    return day.slots.map((one) => time(one.start));
  }, [day.date]);
  const days = dates.filter((date) => !month || date <= last).map((date) =>
    date === own.date ? own : (read.find((one) => one.date === date) ?? { date, shown: 0, decided: 0 }));
  return (
    <section class="week" aria-labelledby="week">
      <div class="bar"><h2 id="week">{month ? monthName(day.date) : words.week}</h2>
        <p class="acts" role="group" aria-labelledby="week">
          {[false, true].map((one) => (
            <button key={String(one)} type="button" class="quiet" aria-pressed={one === month} onClick={() => setMonth(one)}>
              {one ? words.byMonth : words.byWeek}</button>
          ))}
        </p></div>
      <Total days={days} />
      <Days days={days} times={times} here={day.date} go={go} month={month} />
    </section>
  );
}

function Total({ days }: { days: Glance[] }) {
  const decided = days.reduce((sum, one) => sum + one.decided, 0);
  const shown = days.reduce((sum, one) => sum + one.shown, 0);
  return decided > 0 ? <p class="quiet">{texts.time.share(shown / decided)}</p> : null;
}

/** The weeks before the first day, as apps would have seen them: computed when they are first asked for. With `say` it
 * is said where there are none. */
export function PastWeeks({ person, say = false }: { person: string; say?: boolean }) {
  const words = texts.time.past;
  const [past, setPast] = useState<Past | null>(null);
  const [at, setAt] = useState<string | null>(null); // the first day of the week that is looked at
  const [picked, setPicked] = useState<string | null>(null);
  const [slot, look] = useState<number | null>(null);
  useEffect(() => {
    let timer = 0;
    const look = () => api.past(person).then((found) => {
      setPast(found);
      if (found.kept && !found.days && !found.problem) timer = window.setTimeout(look, POLL);
    }, () => undefined);
    void look();
    return () => clearTimeout(timer);
  }, [person]);
  if (!past?.kept) return past && say ? <p class="quiet">{words.nothing}</p> : null;
  const days = past.days ?? [];
  const here = at ?? weekOf(days.at(-1)?.date ?? "1970-01-01");
  const week = days.filter((one) => one.date >= here && one.date < moved(here, WEEK));
  const far = past.job;
  const day = days.find((one) => one.date === picked);
  const turn = (weeks: 1 | -1) => {
    setAt(moved(here, weeks * WEEK));
    setPicked(null);
  };
  return (
    <section class="week past" aria-labelledby="past">
      <h2 id="past">{words.heading}</h2>
      <p class="quiet">{words.words}</p>
      {past.problem && <p class="problem" role="alert">{past.problem}</p>}
      {!past.days && !past.problem && (
        <div class="working" role="status"><label>{words.work} <progress
          {...(far?.total ? { value: far.done, max: far.total } : {})} /></label></div>
      )}
      {past.days?.length === 0 && <p>{words.none}</p>}
      {days.length > 0 && (
        <>
          <div class="bar">
            <p><strong>{words.week(here)}</strong></p>
            <p class="acts">
              <button type="button" class="quiet" disabled={(days[0]?.date ?? "") >= here}
                onClick={() => turn(-1)}>{words.earlier}</button>
              <button type="button" class="quiet" disabled={(days.at(-1)?.date ?? "") < moved(here, WEEK)}
                onClick={() => turn(1)}>{words.later}</button>
            </p>
          </div>
          <Total days={week} />
          <Days days={week} times={past.times} here={picked} go={setPicked} month={false} />
          {day && (
            <>
              <h3>{dayName(day.date)}</h3>
              <Strip day={onWallClock(person, day.date, past.times[0] ?? "00:00", day.true ?? [], (day.told ?? []).map(toldOf))}
                secret={new Set(past.secret)} at={slot} look={look} />
            </>
          )}
        </>
      )}
    </section>
  );
}
