import type { ComponentChildren } from "preact";
import { useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import type { Day, Slot } from "./api";
import { colour, label, runs, toldUntil, toldWords } from "./labels";
import { clock, hour } from "./locale";
import { overSlots, type Looking } from "./slots";
import { texts } from "./texts";
import { reason } from "./why";

const HEIGHT = 44;
const GAP = 8;
const LEAST = 8; // pixels of a slot: a thumb finds it, and an eye
const FOLDS = [1, 2, 3, 4, 6, 8, 12];

/** A slider over the slots of a day, folded into as many lines of equal length as give each slot its least width. */
export function Folded({ count, label, words, at, look, children }: {
  count: number; label: string; words: string; children: (first: number, slots: number) => ComponentChildren;
} & Looking) {
  const box = useRef<HTMLDivElement>(null);
  const [lines, setLines] = useState(1);
  useLayoutEffect(() => {
    const fit = () => {
      const room = box.current?.querySelector("[data-first]")?.clientWidth ?? 0;
      setLines(FOLDS.find((one) => room / Math.ceil(count / one) >= LEAST) ?? FOLDS.at(-1) ?? 1);
    };
    fit();
    const seen = new ResizeObserver(fit);
    if (box.current) seen.observe(box.current);
    return () => seen.disconnect();
  }, [count]);
  const long = Math.ceil(count / lines);
  const firsts = Array.from({ length: Math.ceil(count / long) }, (_, line) => line * long);
  return (
    <div class={firsts.length > 1 ? "folded many" : "folded"} ref={box}
      {...overSlots(count, { at, look }, label, words)}>
      {firsts.map((first) => children(first, Math.min(long, count - first)))}
    </div>
  );
}

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
function outlines(slots: Slot[], context: (one: Slot) => string | null, row: number, secret: Set<string>) {
  const first = slots[0]?.slot ?? 0;
  const held = slots.map(context).map((one) => (one !== null && secret.has(one) ? one : null));
  return runs(held).map((run) => (
    <rect key={`secret ${row}.${run.from}`} class="cell secret" fill="none" x={(first + run.from) * 10 + 0.5}
      width={run.length * 10 - 1} y={row * (HEIGHT + GAP)} height={HEIGHT} />
  ));
}

/** The names of a row's longer runs, in letters that the strip's width does not stretch; read out elsewhere. */
export function Names({ labels, row }: { labels: (string | null)[]; row: number }) {
  const share = 100 / labels.length;
  return runs(labels).map((run) => (
    <span key={`${row}.${run.from}`} class={row ? "run-name lower" : "run-name"}
      style={{ left: `${run.from * share}%`, width: `${run.length * share}%` }}><span>{run.label}</span></span>
  ));
}

const wasTrue = (one: Slot): string | null => one.true;
const wasTold = (one: Slot): string | null => label(one.told);

/** One line of the strip; drawn anew when the day moves, not when another slot is looked at. */
function Line({ day, secret, first, slots, looked }: {
  day: Day; secret: Set<string>; first: number; slots: number; looked: number;
}) {
  const words = texts.today;
  const drawn = useMemo(() => {
    const own = day.slots.slice(first, first + slots);
    return {
      cells: [cells(own, wasTrue, 0), cells(own, wasTold, 1), outlines(own, wasTrue, 0, secret),
        outlines(own, wasTold, 1, secret)],
      names: [<Names key="0" labels={own.map(wasTrue)} row={0} />, <Names key="1" labels={own.map(wasTold)} row={1} />],
      hours: <Hours day={{ ...day, slots: own }} />,
    };
  }, [day, secret, first, slots]);
  return (
    <div class="line">
      <div class="rows" aria-hidden="true"><span>{words.true}</span><span>{words.told}</span></div>
      <div class="drawn" data-first={first} data-slots={slots}>
        <svg viewBox={`${first * 10} 0 ${slots * 10} ${2 * HEIGHT + GAP}`} preserveAspectRatio="none" aria-hidden="true">
          {drawn.cells}
          <rect class="cursor" x={looked * 10} y={0} width={10} height={2 * HEIGHT + GAP} />
        </svg>
        <div class="run-names" aria-hidden="true">{drawn.names}</div>
      </div>
      {drawn.hours}
    </div>
  );
}

/** Two rows of cells, true above told. A hatched cell was silent, an outlined one is secret. */
export function Strip({ day, secret, at, look }: { day: Day; secret: Set<string> } & Looking) {
  const words = texts.today;
  const time = clock(day.zone);
  const until = toldUntil(day);
  const looked = at ?? Math.max(0, until - 1);
  const chosen = day.slots[looked];
  const sentence = !chosen ? "" : chosen.told === null
    ? (chosen.slot < until ? words.slotBefore : words.slotAhead)(time(chosen.start), time(chosen.end))
    : words.slot(time(chosen.start), time(chosen.end), chosen.true, toldWords(chosen.told));
  const because = chosen ? reason(day, chosen) : null;
  const found = useMemo(
    () => new Set(day.slots.flatMap((one) => [one.true, label(one.told)]).filter((one) => one !== null)), [day]);
  return (
    <>
      <svg class="patterns" aria-hidden="true">
        <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--empty)" />
          <rect width="1.6" height="5" fill="var(--hatch)" />
        </pattern>
      </svg>
      <div class="strip">
        <Folded count={day.slots.length} at={looked} look={look} label={`${words.strip}. ${words.stripHelp}`}
          words={`${sentence} ${because?.sentence ?? ""}`}>
          {(first, slots) => <Line key={first} {...{ day, secret, first, slots, looked }} />}
        </Folded>
      </div>
      <div class="read why">
        <p aria-live="polite">{sentence}{because && <strong> {because.sentence}</strong>}</p>
        {because?.figures && <details><summary>{words.figures}</summary><p>{because.figures}</p></details>}
      </div>
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

/** The hours below a strip or a line: four to it, at slots that begin them. */
export function Hours({ day }: { day: Day }) {
  const time = hour(day.zone);
  const quarters = [0, 1, 2, 3].map((part) => Math.floor((part * day.slots.length) / 4));
  return (
    <div class="hours" aria-hidden="true">
      {quarters.map((slot) => <span key={slot}>{day.slots[slot] ? time(day.slots[slot].start) : ""}</span>)}
    </div>
  );
}
