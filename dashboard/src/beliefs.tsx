import { useState } from "preact/hooks";
import type { Any, Day, Each, Secret } from "./api";
import { clock, percent } from "./locale";
import { overSlots, type Looking } from "./slots";
import { Hours } from "./strip";
import { texts } from "./texts";

const HEIGHT = 100;

/** What may be believed of one secret: a line over the day, or a bar for "at any time". */
export function BeliefOf({ secret, day, at, look }: { secret: Secret; day: Day } & Looking) {
  return secret.at === "any" ? <Bar secret={secret} /> : <Line secret={secret} day={day} at={at} look={look} />;
}

/** A step for each slot; where the secret is not held the line is broken. `scale` is the belief at the top. */
function path(values: (number | null)[], scale: number): string {
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

function Line({ secret, day, at, look }: { secret: Each; day: Day } & Looking) {
  const words = texts.today;
  const time = clock(day.zone);
  const count = day.slots.length;
  const told = day.slots.reduce((after, one) => (one.told ? one.slot + 1 : after), 0);
  const [open, setOpen] = useState(false); // a table that nobody looks at is not drawn at every slot
  const room = secret.belief
    .slice(0, told || count)
    .map((belief, slot) => (secret.limit[slot] ?? 2) - (belief ?? 0));
  const nearest = room.indexOf(Math.min(...room));
  const looked = at ?? nearest;
  const top = Math.max(0.05, ...secret.limit.map((one) => one ?? 0)) * 1.08;
  const said = (slot: number): string => {
    const [belief, prior, limit] = [secret.belief[slot], secret.prior[slot], secret.limit[slot]];
    const when = time(day.slots[slot]?.start ?? "");
    if (belief == null || prior == null || limit == null) return words.notHeld(when);
    return words.at(when, belief, prior, limit);
  };
  const name = words.each(secret.name, secret.delta);
  const here = secret.belief[looked];
  return (
    <article class="card">
      <h3>{name}</h3>
      <div class="plot">
        <span class="top" aria-hidden="true">{percent(top / 1.08)}</span>
        <svg viewBox={`0 0 ${count * 10} ${HEIGHT}`} preserveAspectRatio="none"
          {...overSlots(count, { at: looked, look }, `${name}. ${words.stripHelp}`, said(looked))}>
          <rect class="ahead" x={told * 10} y={0} width={(count - told) * 10} height={HEIGHT} />
          <path class="limit" d={path(secret.limit, top)} />
          <path class="prior" d={path(secret.prior, top)} />
          <path class="belief" d={path(secret.belief, top)} />
          <rect class="cursor" x={looked * 10} y={0} width={10} height={HEIGHT} />
          {here != null && <line class="dot" x1={looked * 10} x2={looked * 10 + 10}
            y1={HEIGHT * (1 - here / top)} y2={HEIGHT * (1 - here / top)} />}
        </svg>
      </div>
      <Hours day={day} />
      <p class="read">{said(looked)} {at === null && words.nearest(time(day.slots[nearest]?.start ?? ""))}</p>
      <Key ahead />
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>{words.table}</summary>
        {open && <div class="scrolled" tabIndex={0} role="region" aria-label={name}>
          <table>
            <thead><tr>
              <th scope="col">{words.time}</th><th scope="col">{words.prior}</th>
              <th scope="col">{words.belief}</th><th scope="col">{words.limit}</th>
            </tr></thead>
            <tbody>
              {day.slots.map((one) => (
                <tr key={one.slot}>
                  <th scope="row">{time(one.start)}</th>
                  {[secret.prior, secret.belief, secret.limit].map((line, column) => {
                    const value = line[one.slot];
                    return <td key={column}>{value == null ? "–" : percent(value)}</td>;
                  })}
                </tr>
              ))}
            </tbody>
          </table>
        </div>}
      </details>
    </article>
  );
}

function Bar({ secret }: { secret: Any }) {
  const words = texts.today;
  const { prior, belief, limit } = secret;
  if (prior === null || belief === null || limit === null) return null;
  const x = (share: number) => 1000 * share;
  return (
    <article class="card">
      <h3>{words.any(secret.name, secret.delta)}</h3>
      <svg class="bar-plot" viewBox="0 0 1000 60" preserveAspectRatio="none" role="img"
        aria-label={words.whole(belief, prior, limit)}>
        <rect class="ground" width="1000" height="60" />
        <rect class="filled" width={x(belief)} height="60" />
        <path class="prior" d={`M${x(prior)} 0V60`} />
        <path class="limit" d={`M${x(limit)} 0V60`} />
      </svg>
      <div class="ends" aria-hidden="true"><span>{percent(0)}</span><span>{percent(1)}</span></div>
      <p class="read">{words.whole(belief, prior, limit)}</p>
      <Key />
    </article>
  );
}

function Key({ ahead = false }: { ahead?: boolean }) {
  const words = texts.today;
  return (
    <ul class="legend" aria-hidden="true">
      {(["belief", "prior", "limit"] as const).map((kind) => (
        <li key={kind}><svg viewBox="0 0 20 10"><path class={kind} d="M0 5H20" /></svg>{words[kind]}</li>
      ))}
      {ahead && <li><svg viewBox="0 0 20 10"><rect class="ahead" width="20" height="10" /></svg>{words.ahead}</li>}
    </ul>
  );
}
