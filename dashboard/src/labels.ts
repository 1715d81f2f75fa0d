// What a slot is called and coloured by, the same wherever it is drawn.

import type { Slot, Told } from "./api";
import { texts } from "./texts";

const hues = new Map<string, number>();

/** A colour of a context's own, the same on every day: hues a golden angle apart; what is unknown has none. */
export function colour(context: string): string {
  if (context === "unknown") return "var(--unknown)";
  if (!hues.has(context)) hues.set(context, Math.round((210 + hues.size * 137.5) % 360));
  return `hsl(${hues.get(context)} 52% 56%)`;
}

export const label = (told: Told | null): string | null => told?.context ?? told?.node ?? null;

export function toldWords(told: Told | null): string {
  const words = texts.today;
  return label(told) ?? (told === null ? words.notYet : told.kind === "skipped" ? words.skipped : words.silent);
}

export function trueWords(one: Slot): string {
  return one.true ?? (one.told === null ? texts.today.notYet : texts.today.notKept);
}

export interface Run { label: string; from: number; length: number }

/** Slots next to each other of the same label, as one; those without are left out. */
export function runs(labels: (string | null)[]): Run[] {
  const found: Run[] = [];
  labels.forEach((label, slot) => {
    const before = found[found.length - 1];
    if (label === null) return;
    if (before && before.label === label && before.from + before.length === slot) before.length += 1;
    else found.push({ label, from: slot, length: 1 });
  });
  return found;
}
