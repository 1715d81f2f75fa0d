// What a slot is called and coloured by, the same wherever it is drawn.

import type { Day, Told } from "./api";
import { texts } from "./texts";

let colours: Record<string, string> = {};

/** The colours that the gateway keeps with the places of whoever is looked at. */
export function setColours(found: Record<string, string>): void {
  colours = found;
}

/** The colour of a place, the same everywhere and for ever; what is unknown has none. */
export const colour = (context: string): string => colours[context] ?? "var(--unknown)";

/** The slot after the last that was told; on the day on which discreet was started, earlier ones were never told. */
export const toldUntil = (day: Day): number => day.slots.reduce((after, one) => (one.told ? one.slot + 1 : after), 0);

export const label = (told: Told | null): string | null => told?.context ?? told?.node ?? null;

export function toldWords(told: Told | null): string {
  const words = texts.today;
  return label(told) ?? (told === null ? words.notYet : told.kind === "skipped" ? words.skipped : words.silent);
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

/** What stands for a label of a glance: empty is silence. */
export const toldOf = (label: string | null): Told => (label ? { kind: "released", context: label } : { kind: "suppressed" });

/** A day that was never told, as the strip draws days; its hours are the wall clock's. */
export function onWallClock(
  person: string, date: string, cut: string, truth: (string | null)[], told: (Told | null | undefined)[],
): Day {
  const begins = Date.parse(`${date}T${cut}:00Z`);
  const stamp = (slot: number) => new Date(begins + (slot * 86_400_000) / truth.length).toISOString();
  const slots = truth.map((context, slot) =>
    ({ slot, start: stamp(slot), end: stamp(slot + 1), told: told[slot] ?? null, true: context, why: null }));
  return { person, date, zone: "UTC", slots };
}
