import { useMemo, useState } from "preact/hooks";
import type { Day, Secret } from "./api";
import { toldUntil } from "./labels";
import { clock, percent } from "./locale";
import { overSlots, type Looking } from "./slots";
import { Hours } from "./strip";
import { texts } from "./texts";

const HEIGHT = 100;

type Values = (number | null)[];

/** What may be believed of a secret, slot by slot. */
interface Lines {
  name: string; belief: Values; prior: Values; limit: Values;
  /** Belief by all that was told, of a secret at any time: its line is by what had been told until each slot. */
  byNow: number | null;
}

/** Where the limit is highest: from what is known there to that. */
function highest(prior: Values, limit: Values): [number, number] | null {
  const at = limit.reduce<number>((best, one, slot) => (one !== null && one > (limit[best] ?? -1) ? slot : best), 0);
  const [from, to] = [prior[at], limit[at]];
  return from == null || to == null ? null : [from, to];
}

/** The three lines of a secret; at any time of the day, habits' and limit are level. */
function linesOf(secret: Secret, count: number): Lines | null {
  const words = texts.today;
  if (secret.at === "each") {
    const ends = highest(secret.prior, secret.limit);
    return { ...secret, name: ends ? words.each(secret.name, ...ends) : secret.name, byNow: null };
  }
  const { prior, limit, line, belief } = secret;
  if (prior === null || limit === null || line === null) return null;
  const level = (value: number): Values => Array<number>(count).fill(value);
  const name = words.any(secret.name, secret, prior, limit);
  return { name, belief: line, prior: level(prior), limit: level(limit), byNow: belief };
}

/** A step for each slot; where there is no value the line is broken. `scale` is the belief at the top. */
function path(values: Values, scale: number): string {
  let pen = "";
  let before: number | null = null;
  values.forEach((value, slot) => {
    if (value !== null) {
      const y = (HEIGHT * (1 - value / scale)).toFixed(2);
      pen += before === null ? `M${slot * 10} ${y}` : `V${y}`;
      pen += `H${slot * 10 + 10}`;
    }
    before = value;
  });
  return pen;
}

const topOf = (limit: Values): number => Math.max(0.05, ...limit.map((one) => one ?? 0)) * 1.08;

/** The slot at which belief is closest to its limit, of those that were told; of all, where it was held in none. */
function closest(lines: Lines, told: number): number {
  const room = lines.belief.map((belief, slot) => (belief === null ? 2 : (lines.limit[slot] ?? 2) - belief));
  const least = (values: number[]): number => values.indexOf(Math.min(...values));
  const held = room.slice(0, told).some((one) => one < 2);
  return least(held ? room.slice(0, told) : room);
}

/** What may be believed of one secret: a line over the day that can be read out, with its prior and its limit. */
export function BeliefOf({ secret, day, at, look }: { secret: Secret; day: Day } & Looking) {
  const count = day.slots.length;
  const lines = useMemo(() => linesOf(secret, count), [secret, count]);
  return lines && <Card lines={lines} day={day} at={at} look={look} />;
}

function Card({ lines, day, at, look }: { lines: Lines; day: Day } & Looking) {
  const words = texts.today;
  const time = clock(day.zone);
  const count = day.slots.length;
  const told = toldUntil(day);
  const nearest = useMemo(() => closest(lines, told), [lines, told]);
  const looked = at ?? nearest;
  const said = (slot: number): string => {
    const [belief, prior, limit] = [lines.belief[slot], lines.prior[slot], lines.limit[slot]];
    const one = day.slots[slot];
    if (prior == null || limit == null) return words.notHeld(time(one?.start ?? ""));
    if (belief == null) return (slot < told ? words.notYetOn : words.notTold)(time(one?.start ?? ""));
    if (lines.byNow !== null) return words.until(time(one?.end ?? ""), belief, prior, limit);
    return words.at(time(one?.start ?? ""), belief, prior, limit);
  };
  return (
    <article class="card">
      <h3>{lines.name}</h3>
      <Plot lines={lines} count={count} told={told} looked={looked} look={look} said={said(looked)} />
      <Hours day={day} />
      <p class="read">
        {said(looked)} {at === null && words.nearest(time(day.slots[nearest]?.start ?? ""))}{" "}
        {lines.byNow !== null && words.byNow(lines.byNow)}
      </p>
      <Table lines={lines} day={day} />
    </article>
  );
}

interface Plotted { lines: Lines; count: number; told: number; looked: number; look: Looking["look"]; said: string }

function Plot({ lines, count, told, looked, look, said }: Plotted) {
  const { name, belief, prior, limit } = lines;
  const top = useMemo(() => topOf(limit), [limit]);
  const still = useMemo(() => [ // neither moves as slots are told
    <path class="limit" d={path(limit, top)} />, <path class="prior" d={path(prior, top)} />,
  ], [limit, prior, top]);
  const moving = useMemo(() => path(belief, top), [belief, top]);
  const here = belief[looked];
  return (
    <div class="plot">
      <span class="top" aria-hidden="true">{percent(top / 1.08)}</span>
      <svg viewBox={`0 0 ${count * 10} ${HEIGHT}`} preserveAspectRatio="none"
        {...overSlots(count, { at: looked, look }, `${name}. ${texts.today.stripHelp}`, said)}>
        <rect class="ahead" x={told * 10} y={0} width={(count - told) * 10} height={HEIGHT} />
        {still}
        <path class="belief" d={moving} />
        <rect class="cursor" x={looked * 10} y={0} width={10} height={HEIGHT} />
        {here != null && <line class="dot" x1={looked * 10} x2={looked * 10 + 10}
          y1={HEIGHT * (1 - here / top)} y2={HEIGHT * (1 - here / top)} />}
      </svg>
    </div>
  );
}

/** A table that nobody looks at is not drawn at every slot. */
function Table({ lines, day }: { lines: Lines; day: Day }) {
  const words = texts.today;
  const time = clock(day.zone);
  const [open, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{words.table}</summary>
      {open && <div class="scrolled" tabIndex={0} role="region" aria-label={lines.name}>
        <table>
          <thead><tr>
            <th scope="col">{words.time}</th><th scope="col">{words.prior}</th>
            <th scope="col">{words.belief}</th><th scope="col">{words.limit}</th>
          </tr></thead>
          <tbody>
            {day.slots.map((one) => (
              <tr key={one.slot}>
                <th scope="row">{time(one.start)}</th>
                {[lines.prior, lines.belief, lines.limit].map((line, column) => {
                  const value = line[one.slot];
                  return <td key={column}>{value == null ? "–" : percent(value)}</td>;
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>}
    </details>
  );
}

/** What the lines are, once for all of them. */
export function Key() {
  const words = texts.today;
  return (
    <ul class="legend lines" aria-hidden="true">
      {(["belief", "prior", "limit"] as const).map((kind) => (
        <li key={kind}><svg viewBox="0 0 20 10"><path class={kind} d="M0 5H20" /></svg>{words[kind]}</li>
      ))}
      <li><svg viewBox="0 0 20 10"><rect class="ahead" width="20" height="10" /></svg>{words.ahead}</li>
    </ul>
  );
}
