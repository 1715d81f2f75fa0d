// Moving along the slots of a day by pointer and by keyboard, the same for the strip and for every line.

import type { JSX } from "preact";

export interface Looking { at: number | null; look: (slot: number | null) => void }

type Target = SVGSVGElement | HTMLElement;

/** What makes an element a slider over slots: arrow keys, Home, End, and the pointer. `words` is what is read out. */
export function overSlots(
  count: number, { at, look }: Looking, label: string, words: string,
): JSX.HTMLAttributes<SVGSVGElement> & JSX.HTMLAttributes<HTMLDivElement> {
  const step: Record<string, (from: number) => number> = {
    ArrowLeft: (from) => from - 1,
    ArrowDown: (from) => from - 1,
    ArrowRight: (from) => from + 1,
    ArrowUp: (from) => from + 1,
    PageDown: (from) => from - 4,
    PageUp: (from) => from + 4,
    Home: () => 0,
    End: () => count - 1,
  };
  const pointed = (event: PointerEvent) => {
    const still = event.movementX === 0 && event.movementY === 0;
    if (event.type === "pointermove" && still) return; // the page moved below the pointer: keys keep their slot
    const part = (event.target as Element).closest<HTMLElement>("[data-first]"); // one line of a day that is folded
    const [first, wide] = part ? [Number(part.dataset.first), Number(part.dataset.slots)] : [0, count];
    const box = (part ?? (event.currentTarget as Target)).getBoundingClientRect();
    const slot = first + Math.floor(((event.clientX - box.left) / box.width) * wide);
    look(Math.min(first + wide - 1, Math.max(first, slot)));
  };
  return {
    role: "slider",
    tabindex: 0, // as SVG spells it: its attributes know upper case
    "aria-label": label,
    "aria-valuemin": 0,
    "aria-valuemax": count - 1,
    "aria-valuenow": at ?? 0,
    "aria-valuetext": words,
    onPointerMove: pointed,
    onPointerDown: pointed,
    onKeyDown: (event: KeyboardEvent) => {
      const move = step[event.key];
      if (!move) return;
      event.preventDefault();
      look(Math.min(count - 1, Math.max(0, at === null ? move(0) : move(at))));
    },
  } as JSX.HTMLAttributes<SVGSVGElement> & JSX.HTMLAttributes<HTMLDivElement>;
}

/** Neighbours of one kind joined: [first, how many, kind]. Seams are not drawn, and a week is a few hundred shapes. */
export function runs<T>(kinds: T[]): [number, number, T][] {
  const found: [number, number, T][] = [];
  kinds.forEach((kind, at) => {
    const last = found[found.length - 1];
    if (last && last[2] === kind) last[1] += 1;
    else found.push([at, 1, kind]);
  });
  return found;
}
