import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { api, type Days, type Glance } from "./api";
import { dayName, dayNumber, monthName, moved, movedMonths, weekday, weekOf } from "./locale";
import { texts } from "./texts";

const STEPS: Record<string, (from: string) => string> = {
  ArrowLeft: (from) => moved(from, -1),
  ArrowRight: (from) => moved(from, 1),
  ArrowUp: (from) => moved(from, -7),
  ArrowDown: (from) => moved(from, 7),
  Home: (from) => weekOf(from),
  End: (from) => moved(weekOf(from), 6),
  PageUp: (from) => movedMonths(from, -1),
  PageDown: (from) => movedMonths(from, 1),
};

/** How much was shown, in five steps; 0 where nothing was decided. */
const shade = (one: Glance | undefined): number =>
  one && one.decided ? 1 + Math.min(4, Math.floor((5 * one.shown) / one.decided)) : 0;

/** A month: a day is the darker the more was shown on it. */
export function Calendar({ person, days, date, go, close }: {
  person: string; days: Days; date: string; go: (date: string) => void; close: (back?: boolean) => void;
}) {
  const words = texts.today;
  const [at, setAt] = useState(date);
  const [read, setRead] = useState<Glance[]>([]);
  const grid = useRef<HTMLTableElement>(null);
  const moving = useRef(false); // whether keys brought it here: then the day has the focus
  const month = at.slice(0, 7);
  const first = weekOf(`${month}-01`);
  const weeks = Array.from({ length: 6 }, (_, week) => Array.from({ length: 7 }, (_, k) => moved(first, 7 * week + k)))
    .filter((week) => week.some((one) => one.startsWith(month)));

  useEffect(() => setAt(date), [date]);
  useEffect(() => grid.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus(), []); // keys work at once
  useLayoutEffect(() => { // it closes wherever else one goes, by a press or by a key
    const away = (event: Event) => {
      if (!(event.target as Element).closest(".picking")) close(false);
    };
    addEventListener("pointerdown", away);
    addEventListener("focusin", away);
    return () => {
      removeEventListener("pointerdown", away);
      removeEventListener("focusin", away);
    };
  }, []);
  useEffect(() => {
    let wanted = true;
    api.glance(person, first, moved(first, 41)).then((found) => wanted && setRead(found), () => undefined);
    return () => void (wanted = false);
  }, [person, first, days.last]);
  useEffect(() => {
    if (moving.current) grid.current?.querySelector<HTMLElement>("[tabindex='0']")?.focus();
    moving.current = false;
  }, [at]);

  const within = (one: string): boolean => one >= (days.first ?? "") && one <= (days.last ?? "");
  const step = (to: string) => {
    const [least, most] = [days.first ?? to, days.last ?? to];
    setAt(to < least ? least : to > most ? most : to);
  };
  const pressed = (event: KeyboardEvent) => {
    const move = STEPS[event.key];
    if (!move) return;
    event.preventDefault();
    moving.current = true;
    step(move(at));
  };
  const cell = (one: string) => {
    const found = read.find((each) => each.date === one);
    const name = found ? words.weekDay(dayName(one), found.shown / Math.max(1, found.decided)) : words.weekEmpty(dayName(one));
    const other = !one.startsWith(month);
    return (
      <td key={one} role="gridcell" aria-selected={one === date}>
        <button type="button" class={`day shade-${shade(found)}${other ? " other" : ""}`} aria-label={name}
          tabIndex={one === at ? 0 : -1} disabled={!within(one)} onClick={() => go(one)}>{dayNumber(one)}</button>
      </td>
    );
  };
  return (
    <section class="card calendar" aria-label={words.calendar} onKeyDown={pressed}>
      <div class="bar">
        <button type="button" class="quiet" aria-label={words.earlierMonth} disabled={month <= (days.first ?? "").slice(0, 7)}
          onClick={() => step(movedMonths(at, -1))}>‹</button>
        <h2 aria-live="polite">{monthName(at)}</h2>
        <button type="button" class="quiet" aria-label={words.laterMonth} disabled={month >= (days.last ?? "").slice(0, 7)}
          onClick={() => step(movedMonths(at, 1))}>›</button>
      </div>
      <table ref={grid} role="grid" aria-label={`${monthName(at)}. ${words.calendarHelp}`} >
        <thead><tr>
          {weeks[0]?.map((one) => <th key={one} scope="col" abbr={weekday(one, "long")}>{weekday(one, "short")}</th>)}
        </tr></thead>
        <tbody>{weeks.map((week) => <tr key={week[0]}>{week.map(cell)}</tr>)}</tbody>
      </table>
      <p class="shades" aria-hidden="true">
        {words.less} {[1, 2, 3, 4, 5].map((one) => <span key={one} class={`day shade-${one}`} />)} {words.more}
      </p>
      <button type="button" class="quiet" onClick={() => close()}>{words.close}</button>
    </section>
  );
}
