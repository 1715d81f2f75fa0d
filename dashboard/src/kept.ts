// What somebody typed and has not saved yet. It lasts over a reload and over leaving a screen, for this tab alone, and
// is gone when they log out: it may name places that are secret.

import { useLayoutEffect, useState } from "preact/hooks";

const OURS = "discreet ";

export function recall<T>(key: string): T | null {
  try {
    const text = sessionStorage.getItem(OURS + key);
    return text === null ? null : (JSON.parse(text) as T);
  } catch {
    return null; // storage may be off: then a reload forgets
  }
}

export function keep(key: string, value: unknown): void {
  try {
    if (value === null) sessionStorage.removeItem(OURS + key);
    else sessionStorage.setItem(OURS + key, JSON.stringify(value));
  } catch { /* as above */ }
}

/** All that begins so; without a beginning, everything. */
export function forget(beginning = ""): void {
  try {
    for (const key of Object.keys(sessionStorage)) if (key.startsWith(OURS + beginning)) sessionStorage.removeItem(key);
  } catch { /* as above */ }
}

/** A state that is kept while it differs from what is saved; the last function goes back to that. */
export function useKept<T>(key: string, saved: () => T): [T, (next: T | ((before: T) => T)) => void, () => void] {
  const [value, setValue] = useState<T>(() => recall<T>(key) ?? saved());
  useLayoutEffect(() => keep(key, JSON.stringify(value) === JSON.stringify(saved()) ? null : value), [key, value]);
  return [value, setValue, () => setValue(saved())];
}
