import { useMemo } from "preact/hooks";
import type { Day, Slot } from "./api";
import { colour, label, runs, toldWords, trueWords } from "./labels";
import { clock, hour } from "./locale";
import { overSlots, type Looking } from "./slots";
import { texts } from "./texts";
import { reason } from "./why";

const HEIGHT = 44;
const GAP = 8;

/** Empty is what is not told yet, was off, or is no longer kept; `joined` is for one that is as the next. */
function cell(one: Slot, context: string | null, row: number, joined: boolean) {
  const silent = row === 1 && one.told?.kind === "suppressed";
  const fill = silent ? "url(#hatch)" : context === null ? "var(--empty)" : colour(context);
  return <rect key={`${row}.${one.slot}`} class="cell" x={one.slot * 10 + 0.5} width={joined ? 10 : 9}
    y={row * (HEIGHT + GAP)} height={HEIGHT} fill={fill} />;
}

/** A row of them: slots next to each other of the same context are one. */
function cells(slots: Slot[], context: (one: Slot) => string | null, row: number) {
  return slots.map((one, slot) => {
    const next = slots[slot + 1];
    const own = context(one);
    return cell(one, own, row, own !== null && next !== undefined && context(next) === own);
  });
}

/** An outline around each run of slots with a secret context. */
function outlines(labels: (string | null)[], row: number, secret: Set<string>) {
  return runs(labels.map((one) => (one !== null && secret.has(one) ? one : null))).map((run) => (
    <rect key={`secret ${row}.${run.from}`} class="cell secret" fill="none" x={run.from * 10 + 0.5}
      width={run.length * 10 - 1} y={row * (HEIGHT + GAP)} height={HEIGHT} />
  ));
}

/** The names of a row's longer runs, in letters that the strip's width does not stretch; read out elsewhere. */
function Names({ labels, row }: { labels: (string | null)[]; row: number }) {
  const share = 100 / labels.length;
  return runs(labels).map((run) => (
    <span key={`${row}.${run.from}`} class={row ? "run-name lower" : "run-name"}
      style={{ left: `${run.from * share}%`, width: `${run.length * share}%` }}><span>{run.label}</span></span>
  ));
}

/** Two rows of cells, true above told. A hatched cell was silent, an outlined one is secret. */
export function Strip({ day, secret, at, look }: { day: Day; secret: Set<string> } & Looking) {
  const words = texts.today;
  const time = clock(day.zone);
  const count = day.slots.length;
  const looked = at ?? day.slots.reduce((last, one) => (one.told ? one.slot : last), 0);
  const chosen = day.slots[looked];
  const sentence = chosen
    ? words.slot(time(chosen.start), time(chosen.end), trueWords(chosen), toldWords(chosen.told))
    : "";
  const because = chosen ? reason(day, chosen) : "";
  const found = useMemo(() => {
    const every = new Set(day.slots.flatMap((one) => [one.true, label(one.told)]).filter((one) => one !== null));
    for (const one of every) colour(one);
    return every;
  }, [day]);
  const drawn = useMemo(() => [ // drawn anew when the day moves, not when another slot is looked at
    cells(day.slots, (one) => one.true, 0),
    cells(day.slots, (one) => label(one.told), 1),
    outlines(day.slots.map((one) => one.true), 0, secret),
    outlines(day.slots.map((one) => label(one.told)), 1, secret),
  ], [day, secret]);
  const names = useMemo(() => [
    <Names key="0" labels={day.slots.map((one) => one.true)} row={0} />,
    <Names key="1" labels={day.slots.map((one) => label(one.told))} row={1} />,
  ], [day]);
  return (
    <>
      <div class="strip">
        <div class="rows" aria-hidden="true"><span>{words.true}</span><span>{words.told}</span></div>
        <div class="drawn">
          <svg viewBox={`0 0 ${count * 10} ${2 * HEIGHT + GAP}`} preserveAspectRatio="none"
            {...overSlots(count, { at: looked, look }, `${words.strip}. ${words.stripHelp}`, `${sentence} ${because}`)}>
            <defs>
              <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
                <rect width="5" height="5" fill="var(--empty)" />
                <rect width="1.6" height="5" fill="var(--hatch)" />
              </pattern>
            </defs>
            {drawn}
            <rect class="cursor" x={looked * 10} y={0} width={10} height={2 * HEIGHT + GAP} />
          </svg>
          <div class="run-names" aria-hidden="true">{names}</div>
        </div>
      </div>
      <Hours day={day} />
      <p class="read why" aria-live="polite">{sentence}{because && <strong> {because}</strong>}</p>
      <ul class="legend">
        {[...found].map((one) => (
          <li key={one}><svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class={secret.has(one) ? "cell secret" : "cell"} width="10" height="10" fill={colour(one)} />
          </svg>{one}{secret.has(one) && ` (${words.secretPlace})`}</li>
        ))}
        <li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" fill="url(#hatch)" /></svg>
          {words.silent}</li>
      </ul>
    </>
  );
}

/** The hours below a strip or a line: four to a day, at slots that begin them. */
export function Hours({ day }: { day: Day }) {
  const time = hour(day.zone);
  const quarters = [0, 1, 2, 3].map((part) => Math.floor((part * day.slots.length) / 4));
  return (
    <div class="hours" aria-hidden="true">
      {quarters.map((slot) => <span key={slot}>{day.slots[slot] ? time(day.slots[slot].start) : ""}</span>)}
    </div>
  );
}
