// Numbers and dates in the language of the texts; times in the zone of the person's clock.
// Making a format takes longer than a hundred uses of it, so each is made once.

import { tag } from "./language";

const fine = new Intl.NumberFormat(tag, { style: "percent", maximumFractionDigits: 1 });
const coarse = new Intl.NumberFormat(tag, { style: "percent", maximumFractionDigits: 0 });

export const percent = (share: number): string => (share < 0.1 ? fine : coarse).format(share);

/** The gateway's own words, which write "5 %", as this page writes numbers. */
export const asHere = (words: string): string =>
  words.replace(/\d+(?:\.\d+)? %/g, (found) => fine.format(parseFloat(found) / 100));

const numbers = new Intl.NumberFormat(tag);

export const count = (value: number): string => numbers.format(Math.round(value));

/** Bytes as people say them. */
export const bytes = (size: number): string => {
  const unit = size >= 1e9 ? "gigabyte" : size >= 1e6 ? "megabyte" : "kilobyte";
  const share = size / (size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : 1e3);
  return new Intl.NumberFormat(tag, { style: "unit", unit, maximumFractionDigits: 1 }).format(share);
};

const formats = new Map<string, Intl.DateTimeFormat>();

function format(options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const name = JSON.stringify(options);
  let found = formats.get(name);
  if (!found) formats.set(name, (found = new Intl.DateTimeFormat(tag, options)));
  return found;
}

const noon = (iso: string): Date => new Date(`${iso}T00:00:00Z`);

export const date = (seconds: number): string => format({ dateStyle: "medium" }).format(seconds * 1000);

export const dayName = (iso: string): string => format({ dateStyle: "full", timeZone: "UTC" }).format(noon(iso));

export const shortDay = (iso: string): string =>
  format({ weekday: "short", day: "numeric", timeZone: "UTC" }).format(noon(iso));

export const weekday = (iso: string, width: "short" | "long"): string =>
  format({ weekday: width, timeZone: "UTC" }).format(noon(iso));

export const dayNumber = (iso: string): string => format({ day: "numeric", timeZone: "UTC" }).format(noon(iso));

export const monthName = (iso: string): string =>
  format({ month: "long", year: "numeric", timeZone: "UTC" }).format(noon(iso));

/** A time by the hour. */
export const dateHour = (seconds: number): string =>
  format({ dateStyle: "medium", timeStyle: "short" }).format(seconds * 1000);

export function clock(zone: string): (instant: string) => string {
  const times = format({ hour: "2-digit", minute: "2-digit", timeZone: zone });
  return (instant) => times.format(new Date(instant));
}

/** The name of the day that an instant is on; empty where it is that of `start`. */
export function otherDay(zone: string, start: string, instant: string): string {
  const days = format({ weekday: "long", day: "numeric", month: "long", timeZone: zone });
  const name = days.format(new Date(instant));
  return name === days.format(new Date(start)) ? "" : name;
}

/** For the hours below a line, where room is short. */
export function hour(zone: string): (instant: string) => string {
  const hours = format({ hour: "numeric", timeZone: zone });
  return (instant) => hours.format(new Date(instant));
}

export function moved(iso: string, days: number): string {
  return new Date(noon(iso).getTime() + days * 86_400_000).toISOString().slice(0, 10);
}

/** The same day so many months later, or that month's last. */
export function movedMonths(iso: string, months: number): string {
  const there = noon(iso);
  const day = there.getUTCDate();
  there.setUTCDate(1);
  there.setUTCMonth(there.getUTCMonth() + months);
  const last = new Date(Date.UTC(there.getUTCFullYear(), there.getUTCMonth() + 1, 0)).getUTCDate();
  there.setUTCDate(Math.min(day, last));
  return there.toISOString().slice(0, 10);
}

interface Weeks { weekInfo?: { firstDay: number }; getWeekInfo?: () => { firstDay: number } }

/** The first day of the week that a date is in, as the reader's language has weeks. */
export function weekOf(iso: string): string {
  const locale = new Intl.Locale(tag) as Intl.Locale & Weeks;
  const first = locale.getWeekInfo?.().firstDay ?? locale.weekInfo?.firstDay ?? 1;
  return moved(iso, -((noon(iso).getUTCDay() - first + 7) % 7));
}

export const number = (value: number, digits = 0): string =>
  new Intl.NumberFormat(tag, { maximumFractionDigits: digits }).format(value);

/** A length on the ground. */
export function length(metres: number): string {
  const unit = metres < 1000 ? "meter" : "kilometer";
  return new Intl.NumberFormat(tag, { style: "unit", unit, maximumSignificantDigits: 3 }).format(
    metres < 1000 ? metres : metres / 1000,
  );
}

/** "a, b or c". */
export const list = (words: string[], type: "conjunction" | "disjunction"): string =>
  new Intl.ListFormat(tag, { type }).format(words);

/** A difference of shares, in percentage points. */
export const points = (share: number): string =>
  new Intl.NumberFormat(tag, { maximumFractionDigits: 1 }).format(100 * share);

/** Such as: Mon, 2 Mar. */
export const dayShort = (iso: string): string =>
  format({ weekday: "short", day: "numeric", month: "short", timeZone: "UTC" }).format(noon(iso));

/** Such as: 2 Mar 2026. */
export const dayPlain = (iso: string): string => format({ dateStyle: "medium", timeZone: "UTC" }).format(noon(iso));

/** A wall-clock time such as 07:30, as the reader writes it. */
export const timeOf = (label: string): string =>
  format({ hour: "2-digit", minute: "2-digit", timeZone: "UTC" }).format(new Date(`1970-01-01T${label}:00Z`));

const relative = new Intl.RelativeTimeFormat(tag, { style: "short" });

function related(seconds: number, sign: 1 | -1): string {
  const [size, unit]: [number, Intl.RelativeTimeFormatUnit] = seconds < 90 ? [1, "second"] : seconds < 5400 ? [60, "minute"]
    : seconds < 129_600 ? [3600, "hour"] : [86_400, "day"];
  return relative.format(sign * Math.max(0, Math.round(seconds / size)), unit);
}

/** Such as: 10 sec ago. */
export const ago = (seconds: number): string => related(seconds, -1);

/** Such as: in 25 min. */
export const until = (seconds: number): string => related(seconds, 1);

let ahead = 0; // seconds by which the gateway's clock is ahead of the reader's

/** The gateway's time as it said it just now: a tablet's clock may be wrong, and a demo's days pass fast. */
export const setNow = (seconds: number): void => void (ahead = seconds - Date.now() / 1000);

/** Seconds from an instant until now; below zero where it is still to come. */
export const since = (instant: string): number => (Date.now() - Date.parse(instant)) / 1000 + ahead;

/** Times where no clock of a person is known: as the reader's own has them. */
export const ownZone = (): string => new Intl.DateTimeFormat().resolvedOptions().timeZone;
