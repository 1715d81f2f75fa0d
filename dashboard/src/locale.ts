// Numbers and dates as the reader's browser writes them; times in the zone of the person's clock.

export const percent = (share: number): string =>
  new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);

export const date = (seconds: number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(seconds * 1000);

/** A time by the hour. */
export const dateHour = (seconds: number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }).format(seconds * 1000);

export const dayName = (iso: string): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeZone: "UTC" }).format(new Date(`${iso}T00:00:00Z`));

export function clock(zone: string): (instant: string) => string {
  const format = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone: zone });
  return (instant) => format.format(new Date(instant));
}

/** For the hours below a line, where room is short. */
export function hour(zone: string): (instant: string) => string {
  const format = new Intl.DateTimeFormat(undefined, { hour: "numeric", timeZone: zone });
  return (instant) => format.format(new Date(instant));
}

export function moved(iso: string, days: number): string {
  return new Date(Date.parse(`${iso}T00:00:00Z`) + days * 86_400_000).toISOString().slice(0, 10);
}

export const number = (value: number, digits = 0): string =>
  new Intl.NumberFormat(undefined, { maximumFractionDigits: digits }).format(value);

/** A length on the ground. */
export function length(metres: number): string {
  const unit = metres < 1000 ? "meter" : "kilometer";
  return new Intl.NumberFormat(undefined, { style: "unit", unit, maximumSignificantDigits: 3 }).format(
    metres < 1000 ? metres : metres / 1000,
  );
}
/** "a, b or c". */
export const list = (words: string[], type: "conjunction" | "disjunction"): string =>
  new Intl.ListFormat(undefined, { type }).format(words);

/** A difference of shares, in percentage points. */
export const points = (share: number): string =>
  new Intl.NumberFormat(undefined, { maximumFractionDigits: 1 }).format(100 * share);

/** Such as: Mon, 2 Mar. */
export const dayShort = (iso: string): string =>
  new Intl.DateTimeFormat(undefined, { weekday: "short", day: "numeric", month: "short", timeZone: "UTC" })
    .format(new Date(`${iso}T00:00:00Z`));

/** A wall-clock time such as 07:30, as the reader writes it. */
export const timeOf = (label: string): string =>
  new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", timeZone: "UTC" })
    .format(new Date(`1970-01-01T${label}:00Z`));
