import { useState } from "preact/hooks";
import type { PreviewedDay, Previewed, Shown, Terms, Told } from "./api";
import { clock, dayName, dayShort, percent } from "./locale";
import { runs } from "./slots";
import { colour, label } from "./labels";
import { Folded, Hours } from "./strip";
import { texts } from "./texts";

type Held = (context: string | null, slot: number) => boolean;

/** What a draft would cost: figures beside each other, then the last days. */
export function Cost({ found, secrets }: { found: Previewed; secrets: Terms[] }) {
  const held: Held = (context, slot) => context !== null && secrets.some(
    (one) => one.contexts.includes(context) && (one.slots === null || one.slots.includes(slot)));
  const words = texts.secrets;
  const { before, after } = found;
  const share = (key: "true" | "coarse" | "false" | "silent") => (one: Shown) => percent(one[key]);
  const rows: [string, (one: Shown) => string][] = [
    [words.shownTrue, share("true")],
    ...(before.coarse + after.coarse > 0 ? [[words.coarse, share("coarse")] as [string, (one: Shown) => string]] : []),
    ...(before.false + after.false > 0 ? [[words.false, share("false")] as [string, (one: Shown) => string]] : []),
    [words.silent, share("silent")],
    [words.worth, (one) => `${percent(one.utility.mean)} ± ${percent(one.utility.half_width)}`],
    [words.audit, (one) => (one.holds ? words.holds : one.holds === null ? words.open : words.broken)],
    [words.worst, (one) => one.worst === null ? words.nothing
      : words.worstWords(one.worst.secret, one.worst.prior, one.worst.belief)],
  ];
  return (
    <section class="cost" aria-labelledby="cost">
      <h3 id="cost">{words.cost}</h3>
      <p class="difference">{words.difference(found.difference.mean, found.difference.half_width)}</p>
      <Shares before={before} after={after} />
      <p class="quiet">{words.drawn(found.weeks)}</p>
      <table>
        <thead><tr><td /><th scope="col">{words.before}</th><th scope="col">{words.after}</th></tr></thead>
        <tbody>
          {rows.map(([what, said]) => (
            <tr key={what}><th scope="row">{what}</th><td>{said(before)}</td><td>{said(after)}</td></tr>
          ))}
        </tbody>
      </table>
      <h3>{words.week}</h3>
      {found.days.length === 0 ? <p>{words.noDays}</p> : <Days days={found.days} held={held} />}
    </section>
  );
}

/** How much is shown, as two bars below each other: the eye compares lengths faster than figures. */
function Shares({ before, after }: { before: Shown; after: Shown }) {
  const words = texts.secrets;
  return (
    <div class="shares" aria-hidden="true">
      {([[words.before, before], [words.after, after]] as [string, Shown][]).map(([name, one]) => (
        <div key={name}><span>{name}</span>
          <svg viewBox="0 0 1000 10" preserveAspectRatio="none">
            <rect class="ground" width="1000" height="10" />
            <rect class="filled" width={1000 * one.true} height="10" />
            <rect class="part" x={1000 * one.true} width={1000 * (one.coarse + one.false)} height="10" />
          </svg>
          <span>{percent(one.true)}</span>
        </div>
      ))}
    </div>
  );
}

const EMPTY = "\u0000"; // a slot that is still to come; no label is this
const HEIGHT = 20;
const GAP = 3;

function Days({ days, held }: { days: PreviewedDay[]; held: Held }) {
  const words = texts.secrets;
  const found = new Set(days.flatMap((day) => day.slots.flatMap((one) => [one.true, label(one.told), label(one.would)]))
    .filter((one) => one !== null));
  const decided = days.flatMap((day) => day.slots.filter((one) => one.told !== null));
  const shown = (told: (one: (typeof decided)[number]) => Told | null) =>
    decided.filter((one) => label(told(one)) !== null).length / Math.max(1, decided.length);
  return (
    <>
      <p class="quiet">{words.weekWords}</p>
      <p>{words.counts(shown((one) => one.told), shown((one) => one.would))}</p>
      <svg class="patterns" aria-hidden="true">
        <pattern id="quiet-hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
          <rect width="5" height="5" fill="var(--empty)" /><rect width="1.6" height="5" fill="var(--hatch)" />
        </pattern>
      </svg>
      <div class="tried">
        {days.map((day) => <TriedDay key={day.date} day={day} held={held} />)}
      </div>
      <ul class="legend">
        {[...found].map((one) => (
          <li key={one}><svg viewBox="0 0 10 10" aria-hidden="true">
            <rect class="cell" width="10" height="10" fill={colour(one)} /></svg>{one}</li>
        ))}
        <li><svg viewBox="0 0 10 10" aria-hidden="true"><rect width="10" height="10" fill="url(#quiet-hatch)" /></svg>
          {texts.today.silent}</li>
        <li><svg viewBox="0 0 10 10" aria-hidden="true">
          <rect class="cell secret" width="10" height="10" fill="none" /></svg>{texts.today.secretPlace}</li>
      </ul>
    </>
  );
}

/** Three rows of a day: true, told, would have been told. */
function TriedDay({ day, held }: { day: PreviewedDay; held: Held }) {
  const words = texts.secrets;
  const time = clock(day.zone);
  const count = day.slots.length;
  const [at, setAt] = useState<number | null>(null);
  const said = (told: Told | null) =>
    label(told) ?? (told?.kind === "skipped" ? texts.today.skipped : texts.today.silent);
  const one = at === null ? undefined : day.slots[at];
  const sentence = !one ? "" : one.told === null ? texts.today.notYet
    : words.tried(time(one.start), time(one.end), one.true ?? "unknown", said(one.told), said(one.would));
  const rows = [
    day.slots.map((each) => (each.told === null ? EMPTY : each.true)),
    day.slots.map((each) => (each.told === null ? EMPTY : label(each.told))),
    day.slots.map((each) => (each.told === null ? EMPTY : label(each.would))),
  ];
  const cells = (contexts: (string | null)[], row: number, from: number) => {
    const kinds = contexts.map((context, slot) => `${held(context, from + slot) ? "!" : " "}${context ?? ""}`);
    return runs(kinds).map(([first, count, kind]) => {
      const context = contexts[first];
      return <rect key={`${row}.${first}`} class={kind.startsWith("!") ? "cell secret" : "cell"}
        x={(from + first) * 10} width={count * 10} y={row * (HEIGHT + GAP)} height={HEIGHT}
        fill={context === EMPTY ? "var(--empty)" : context == null ? "url(#quiet-hatch)" : colour(context)} />;
    });
  };
  return (
    <div class="row">
      <span class="name">{dayShort(day.date)}
        <small aria-hidden="true">{words.rows.map((name) => <span key={name}>{name}</span>)}</small>
      </span>
      <div>
        <Folded count={count} at={at} look={setAt} label={`${dayName(day.date)}. ${texts.today.stripHelp}`} words={sentence}>
          {(from, slots) => (
            <div key={from} data-first={from} data-slots={slots}>
              <svg viewBox={`${from * 10} 0 ${slots * 10} ${3 * HEIGHT + 2 * GAP}`} preserveAspectRatio="none"
                aria-hidden="true">
                {rows.map((contexts, row) => cells(contexts.slice(from, from + slots), row, from))}
                {at !== null && <rect class="cursor" x={at * 10} width={10} height={3 * HEIGHT + 2 * GAP} />}
              </svg>
              <Hours day={{ ...day, slots: day.slots.slice(from, from + slots) }} />
            </div>
          )}
        </Folded>
        {sentence && <p class="quiet" aria-live="polite">{sentence}</p>}
      </div>
    </div>
  );
}
