import { useCallback, useEffect, useState } from "preact/hooks";
import { Refused, routine, type RoutineNow, type RoutineFound, type Drawn } from "./api";
import { Help } from "./help";
import { list } from "./locale";
import { texts } from "./texts";

const POLL = 600; // milliseconds between two looks at work that is under way
const SPANS = [0, 26, 12, 4] as const; // weeks; 0 for all days

export interface Asked {
  now: RoutineNow | null; problem: string; busy: boolean; tried: (call: () => Promise<RoutineNow>) => Promise<void>;
}

/** A person's routine as it stands; asked again while work is under way, and `changed` is called when it ends. */
export function useRoutine(person: string, changed: () => void, out: () => void): Asked {
  const [now, setNow] = useState<RoutineNow | null>(null);
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);
  const tried = useCallback(async (call: () => Promise<RoutineNow>) => {
    setBusy(true);
    try {
      setNow(await call());
      setProblem("");
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return out();
      setProblem(error instanceof Refused ? error.message : texts.failed);
      if (error instanceof Refused && error.status === 409) setNow(await routine.now(person).catch(() => null));
    } finally {
      setBusy(false);
    }
  }, [person]);
  useEffect(() => void tried(() => routine.now(person)), [person]);
  useEffect(() => {
    if (!now?.job) return;
    const timer = setTimeout(() => void tried(() => routine.now(person)), POLL);
    return () => clearTimeout(timer);
  }, [now]);
  useEffect(changed, [now?.coming?.from]);
  return { now, problem, busy, tried };
}

/** Whether something is to be decided or waited for, so that it stands above the map. */
export const urgent = (map: Drawn, now: RoutineNow | null): boolean =>
  map.waiting !== null || Boolean(now && (now.job || now.result || now.coming || now.problem));

/** The routine that places are part of: learned anew, looked at, started, undone. */
export function Routine({ person, map, asked, discard }: {
  person: string; map: Drawn; asked: Asked; discard: () => void;
}) {
  const words = texts.routine;
  const { now, problem, busy, tried } = asked;
  if (!now) return null;
  const said = problem || now.problem;
  const coming = now.coming;
  return (
    <section class={urgent(map, now) ? "card waiting" : "card"} aria-labelledby="routine">
      <div class="headed">
        <h2 id="routine">{coming ? words.coming(coming.from) : map.waiting ? words.waiting : words.heading}</h2>
        <Help word="routine" />
      </div>
      {said && <p class="problem" role="alert">{said}</p>}
      {coming ? (
        <>
          <p>{words.comingWords(coming.from)}</p>
          <Changes gone={coming.gone} fresh={coming.new} />
          <button type="button" class="quiet" disabled={busy} onClick={() => void tried(() => routine.undo(person))}>
            {words.undo}</button>
        </>
      ) : now.job ? (
        <div class="working" role="status">
          <label>{texts.first.work[now.job.what] ?? texts.first.work.starting} <progress
            {...(now.job.total ? { value: now.job.done, max: now.job.total } : {})} /></label>
          <button type="button" class="quiet" onClick={() => void tried(() => routine.discard(person))}>
            {texts.first.cancel}</button>
        </div>
      ) : now.result && !now.stale
        ? <Found found={now.result} busy={busy} start={(accept) => tried(() => routine.start(person, now.result!.from, accept))}
          discard={() => tried(() => routine.discard(person))} />
        : <Begin {...{ person, map, now, busy, tried, discard }} />}
    </section>
  );
}

function Begin({ person, map, now, busy, tried, discard }: {
  person: string; map: Drawn; now: RoutineNow; busy: boolean; tried: Asked["tried"]; discard: () => void;
}) {
  const words = texts.routine;
  const [weeks, setWeeks] = useState(0);
  return (
    <>
      <p>{map.waiting ? words.waitingWords : words.words(now.learned.until)}</p>
      {now.stale && <p class="quiet">{words.stale}</p>}
      {now.can === null ? (
        <form class="learn" onSubmit={(event) => {
          event.preventDefault();
          void tried(() => routine.learn(person, weeks));
        }}>
          <label>{words.from}
            <select name="weeks" value={weeks} onChange={(event) => setWeeks(Number(event.currentTarget.value))}>
              {SPANS.map((one) => <option key={one} value={one}>{one ? words.weeks(one) : words.all(now.past)}</option>)}
            </select>
          </label>
          <p class="acts"><button disabled={busy}>{map.waiting ? words.learnMap : words.learn}</button>
            {map.waiting && <button type="button" class="quiet" onClick={discard}>{words.discardMap}</button>}</p>
        </form>
      ) : (
        <>
          <p class="quiet">{words.cannot(now.can)}</p>
          {map.waiting && <button type="button" class="quiet" onClick={discard}>{words.discardMap}</button>}
        </>
      )}
      {map.waiting && <ByHand map={map} person={person} />}
    </>
  );
}

/** What was learned, before it is started: what would change, and when. */
function Found({ found, busy, start, discard }: {
  found: RoutineFound; busy: boolean; start: (accept: boolean) => void; discard: () => void;
}) {
  const words = texts.routine;
  const [accept, setAccept] = useState(false);
  const untrue = found.truth.holds === false;
  if (found.same) return (
    <>
      <p>{words.same}</p>
      <button type="button" class="quiet" onClick={discard}>{words.close}</button>
    </>
  );
  return (
    <form onSubmit={(event) => {
      event.preventDefault();
      start(accept);
    }}>
      <p>{words.found(found.days, found.first, found.last)}{found.few && ` ${texts.first.secrets.few(found.days)}`}</p>
      <Changes fresh={found.new} gone={found.gone} />
      {found.secrets.length > 0 && (
        <>
          <h3>{words.secrets}</h3>
          <ul>{found.secrets.map((one) => (
            <li key={one.name}>{words.guess(one.name, one.before, one.after)}</li>
          ))}</ul>
        </>
      )}
      <p class={untrue ? "problem" : "quiet"}>{untrue ? words.untrue
        : found.truth.holds ? texts.first.secrets.true : texts.first.secrets.unsure}</p>
      {untrue && <label class="check"><input type="checkbox" checked={accept}
        onChange={(event) => setAccept(event.currentTarget.checked)} /> {words.accept}</label>}
      <p>{words.effect(found.from)}</p>
      <p class="acts"><button disabled={busy || (untrue && !accept)}>{words.start(found.from)}</button>
        <button type="button" class="quiet" onClick={discard}>{words.discard}</button></p>
    </form>
  );
}

function Changes({ fresh, gone }: { fresh: string[]; gone: string[] }) {
  const words = texts.routine;
  return (
    <>
      {fresh.length > 0 && <p>{words.fresh(list(fresh, "conjunction"))}</p>}
      {gone.length > 0 && <p>{words.gone(list(gone, "conjunction"))}</p>}
    </>
  );
}

function ByHand({ map, person }: { map: Drawn; person: string }) {
  const words = texts.places;
  if (!map.waiting) return null;
  const lines = Object.entries(map.waiting.settings).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return (
    <details>
      <summary>{words.waitingByHand}</summary>
      <ol>
        <li>{words.waitingLearn}<pre tabIndex={0}>{map.waiting.learn}</pre></li>
        <li>{words.waitingSettings(person)}<pre tabIndex={0}>{lines.join("\n")}</pre></li>
        <li>{words.waitingStart}</li>
      </ol>
    </details>
  );
}
