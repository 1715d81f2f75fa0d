import { useEffect, useMemo, useState } from "preact/hooks";
import { api, type Day, type Glance } from "./api";
import { colour, label, runs, type Run } from "./labels";
import { moved, shortDay, weekOf } from "./locale";
import { texts } from "./texts";

/** A day as the glances have it, from the day itself: it moves with it. */
function glanceOf(day: Day): Glance {
  const told = day.slots.map((one) => (one.told === null ? null : (label(one.told) ?? "")));
  return {
    date: day.date, told, true: day.slots.map((one) => one.true),
    decided: told.filter((one) => one !== null).length, shown: told.filter((one) => one).length,
  };
}

/** The seven days of the week that is looked at, small; each leads to its day. */
export function Week({ person, day, last, go }: {
  person: string; day: Day; last: string; go: (date: string) => void;
}) {
  const words = texts.today;
  const first = weekOf(day.date);
  const [read, setRead] = useState<Glance[]>([]);
  useEffect(() => {
    let wanted = true;
    api.glance(person, first, moved(first, 6), true).then((found) => wanted && setRead(found), () => undefined);
    return () => void (wanted = false);
  }, [person, first, last]); // the day that is looked at moves by itself
  const own = useMemo(() => glanceOf(day), [day]);
  const days = Array.from({ length: 7 }, (_, k) => moved(first, k)).map((date) =>
    date === own.date ? own : (read.find((one) => one.date === date) ?? { date, shown: 0, decided: 0 }));
  const decided = days.reduce((sum, one) => sum + one.decided, 0);
  const shown = days.reduce((sum, one) => sum + one.shown, 0);
  return (
    <section class="week" aria-labelledby="week">
      <h2 id="week">{words.week}</h2>
      {decided > 0 && <p class="quiet">{words.weekShown(shown / decided)}</p>}
      <ol>
        {days.map((one) => <Row key={one.date} one={one} here={one.date === day.date} go={go} />)}
      </ol>
    </section>
  );
}

function Row({ one, here, go }: { one: Glance; here: boolean; go: (date: string) => void }) {
  return (
    <li>
      <button type="button" class="quiet" aria-current={here ? "date" : undefined} disabled={!one.decided}
        onClick={() => go(one.date)}>
        <span>{shortDay(one.date)}</span>
        <Small one={one} />
        <span class="share">{one.decided ? texts.today.shownShare(one.shown / one.decided) : ""}</span>
      </button>
    </li>
  );
}

/** True above told, a block for each run of slots that are alike. */
function Small({ one }: { one: Glance }) {
  const told = one.told ?? [];
  const blocks = useMemo(() => {
    const above = runs(one.true ?? []).map((run) => block(run, 0));
    return [...above, ...runs(told).map((run) => block(run, 12))];
  }, [one]);
  const box = `0 0 ${Math.max(1, told.length)} 22`;
  return <svg viewBox={box} preserveAspectRatio="none" aria-hidden="true">{blocks}</svg>;
}

const block = (run: Run, y: number) => (
  <rect key={`${y}.${run.from}`} x={run.from} width={run.length} y={y} height={10}
    fill={run.label ? colour(run.label) : "var(--silence)"} />
);
