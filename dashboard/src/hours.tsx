import { useEffect, useRef, useState } from "preact/hooks";
import { timeOf } from "./locale";
import { runs } from "./slots";
import { texts } from "./texts";

const ROWS = 4; // quarters of a day: the same on a phone and on a desk

/** Slots as the hours that they cover: "22:00 to 06:00, 12:00 to 13:00"; runs are joined over the cut. */
export function hoursInWords(slots: number[] | null, times: string[]): string {
  const count = times.length;
  const held = new Set(slots ?? []);
  if (slots === null || held.size === count) return texts.secrets.allDay;
  const begins = [...held].filter((slot) => !held.has((slot + count - 1) % count)).sort((a, b) => a - b);
  return begins.map((first) => {
    let after = first + 1;
    while (held.has(after % count)) after += 1;
    return texts.secrets.run(timeOf(times[first] ?? ""), timeOf(times[after % count] ?? ""));
  }).join(", ");
}

interface Chosen { held: Set<number>; set: (held: Set<number>) => void }

/** The hours of a day to choose from by dragging or by keys, with what habits tell of each as a bar. */
export function Hours({ times, prior, held, set }: { times: string[]; prior: number[] } & Chosen) {
  const words = texts.secrets;
  const count = times.length;
  const wide = Math.ceil(count / ROWS);
  const grid = useRef<HTMLDivElement>(null);
  const drag = useRef<{ from: number; on: boolean; before: Set<number> } | null>(null);
  const [at, setAt] = useState(0);
  const [moved, setMoved] = useState(false); // by a key or the pointer: then the focus goes along
  const most = Math.max(...prior, 1e-9);

  useEffect(() => {
    if (moved) grid.current?.querySelector<HTMLElement>(`[data-slot="${at}"]`)?.focus();
  }, [at, moved]);

  const painted = (before: Set<number>, from: number, to: number, on: boolean) => {
    const after = new Set(before);
    for (let slot = Math.min(from, to); slot <= Math.max(from, to); slot += 1) {
      if (on) after.add(slot);
      else after.delete(slot);
    }
    set(after);
  };
  const below = (event: PointerEvent): number | null => {
    const found = document.elementFromPoint(event.clientX, event.clientY)?.closest<HTMLElement>("[data-slot]");
    return found && grid.current?.contains(found) ? Number(found.dataset.slot) : null;
  };
  const down = (event: PointerEvent) => {
    const slot = below(event);
    if (slot === null || event.button !== 0) return;
    event.preventDefault();
    grid.current?.setPointerCapture(event.pointerId);
    drag.current = { from: slot, on: !held.has(slot), before: held };
    setMoved(true);
    setAt(slot);
    painted(held, slot, slot, !held.has(slot));
  };
  const move = (event: PointerEvent) => {
    const slot = drag.current && below(event);
    if (drag.current && slot !== null) painted(drag.current.before, drag.current.from, slot, drag.current.on);
  };
  const key = (event: KeyboardEvent) => {
    const step: Record<string, number> = {
      ArrowLeft: at - 1, ArrowRight: at + 1, ArrowUp: at - wide, ArrowDown: at + wide, Home: 0, End: count - 1,
    };
    const to = step[event.key];
    if (event.key === " ") painted(held, at, at, !held.has(at));
    else if (to === undefined) return;
    else if (to >= 0 && to < count) {
      if (event.shiftKey) painted(held, at, to, true);
      setMoved(true);
      setAt(to);
    }
    event.preventDefault();
  };
  const cell = (slot: number) => (
    <div key={slot} role="option" data-slot={slot} tabIndex={slot === at ? 0 : -1} aria-selected={held.has(slot)}
      onFocus={() => setAt(slot)}
      aria-label={words.hour(timeOf(times[slot] ?? ""), timeOf(times[(slot + 1) % count] ?? ""), prior[slot])}>
      <span style={{ "--share": (prior[slot] ?? 0) / most }} />
    </div>
  );
  return (
    <div class="day-hours" role="listbox" aria-multiselectable="true" aria-label={`${words.hours}. ${words.hoursHelp}`}
      ref={grid} onKeyDown={key} onPointerDown={down} onPointerMove={move}
      onPointerUp={() => { drag.current = null; }} onPointerCancel={() => { drag.current = null; }}>
      {Array.from({ length: ROWS }, (_, row) => (
        <div key={row} class="quarter" role="presentation">
          <span class="begins" aria-hidden="true">{timeOf(times[row * wide] ?? "")}</span>
          {Array.from({ length: Math.max(0, Math.min(wide, count - row * wide)) }, (_, k) => cell(row * wide + k))}
        </div>
      ))}
    </div>
  );
}

/** The same to look at: a line of the day, its held hours filled, with the times of its quarters. */
export function HeldHours({ slots, times }: { slots: number[] | null; times: string[] }) {
  const held = runs(times.map((_, slot) => slots === null || slots.includes(slot))).filter(([, , on]) => on);
  return (
    <>
      <svg class="held" viewBox={`0 0 ${times.length} 1`} preserveAspectRatio="none" role="img"
        aria-label={hoursInWords(slots, times)}>
        <rect class="ground" width={times.length} height="1" />
        {held.map(([first, count]) => <rect key={first} class="filled" x={first} width={count} height="1" />)}
      </svg>
      <p class="hours" aria-hidden="true">{[0, 1, 2, 3].map((quarter) => (
        <span key={quarter}>{timeOf(times[Math.floor((quarter * times.length) / 4)] ?? "")}</span>))}</p>
    </>
  );
}
