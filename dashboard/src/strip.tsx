import type { Day, Slot, Told } from "./api";
import { clock, hour } from "./locale";
import { overSlots, type Looking } from "./slots";
import { texts } from "./texts";

const hues = new Map<string, number>();

/** A colour of a context's own, the same on every day: hues a golden angle apart. */
export function colour(context: string): string {
  if (!hues.has(context)) hues.set(context, Math.round((210 + hues.size * 137.5) % 360));
  return `hsl(${hues.get(context)} 52% 56%)`;
}

export const label = (told: Told | null): string | null => told?.context ?? told?.node ?? null;

function toldWords(told: Told | null): string {
  const words = texts.today;
  return label(told) ?? (told === null ? words.notYet : told.kind === "skipped" ? words.skipped : words.silent);
}

function trueWords(one: Slot): string {
  return one.true ?? (one.told === null ? texts.today.notYet : texts.today.notKept);
}

const HEIGHT = 44;
const GAP = 8;

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
  const found = new Set(day.slots.flatMap((one) => [one.true, label(one.told)]).filter((one) => one !== null));
  for (const one of found) colour(one);

  const cell = (one: Slot, context: string | null, row: number) => {
    const empty = one.told === null;
    const silent = !empty && context === null;
    const fill = empty ? "var(--empty)" : silent ? "url(#hatch)" : colour(context ?? "");
    const edge = context !== null && secret.has(context) ? "cell secret" : "cell";
    return <rect key={`${row}.${one.slot}`} class={edge} x={one.slot * 10 + 0.5} width={9}
      y={row * (HEIGHT + GAP)} height={HEIGHT} fill={fill} />;
  };
  return (
    <>
      <div class="strip">
        <div class="rows" aria-hidden="true"><span>{words.true}</span><span>{words.told}</span></div>
        <svg viewBox={`0 0 ${count * 10} ${2 * HEIGHT + GAP}`} preserveAspectRatio="none"
          {...overSlots(count, { at: looked, look }, `${words.strip}. ${words.stripHelp}`, sentence)}>
          <defs>
            <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
              <rect width="5" height="5" fill="var(--empty)" />
              <rect width="1.6" height="5" fill="var(--hatch)" />
            </pattern>
          </defs>
          {day.slots.map((one) => cell(one, one.true, 0))}
          {day.slots.map((one) => cell(one, label(one.told), 1))}
          <rect class="cursor" x={looked * 10} y={0} width={10} height={2 * HEIGHT + GAP} />
        </svg>
      </div>
      <Hours day={day} />
      <p class="read" aria-live="polite">{sentence}</p>
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
