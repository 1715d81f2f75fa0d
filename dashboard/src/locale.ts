// Numbers and dates as the reader's browser writes them; times in the zone of the person's clock.

export const percent = (share: number): string =>
  new Intl.NumberFormat(undefined, { style: "percent", maximumFractionDigits: share < 0.1 ? 1 : 0 }).format(share);

export const count = (value: number): string => new Intl.NumberFormat().format(Math.round(value));

/** Bytes as people say them. */
export const bytes = (size: number): string => {
  const unit = size >= 1e9 ? "gigabyte" : size >= 1e6 ? "megabyte" : "kilobyte";
  const share = size / (size >= 1e9 ? 1e9 : size >= 1e6 ? 1e6 : 1e3);
  return new Intl.NumberFormat(undefined, { style: "unit", unit, maximumFractionDigits: 1 }).format(share);
};

export const date = (seconds: number): string =>
  new Intl.DateTimeFormat(undefined, { dateStyle: "medium" }).format(seconds * 1000);

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

/** A length on the ground. */
export function length(metres: number): string {
  const unit = metres < 1000 ? "meter" : "kilometer";
  return new Intl.NumberFormat(undefined, { style: "unit", unit, maximumSignificantDigits: 3 }).format(
    metres < 1000 ? metres : metres / 1000,
  );
}
