// Why something else was told than the truth, in a sentence: from the rows that bind (the gateway's `silences`).

import type { Day, Slot } from "./api";
import { clock, otherDay } from "./locale";
import { label, toldWords } from "./labels";
import { texts } from "./texts";

/** The sentence of a slot; empty where the truth was told, or why it was not is not kept. */
export function reason(day: Day, one: Slot): string {
  const words = texts.today.why;
  const { why, told } = one;
  if (!why || !told || one.true === null) return "";
  const because = words.because(label(told), told.kind === "generalized");
  const row = why.rows[0];
  if (!why.possible) return words.impossible(because);
  if (!row) return words.nothing(because);
  if (row.own) return words.own(because, one.true);
  const time = row.slots === 1 ? clock(day.zone)(row.start) : ""; // a window has none of its own
  const other = otherDay(day.zone, one.start, row.start);
  const of = words.of(row.secret, time, other, why.others + why.rows.length - 1, row.belief, row.limit);
  const shown = row.by === "truth";
  if (why.share > 0) return words.chance(one.true, why.share, shown ? words.it : toldWords(told), of);
  return shown ? words.truth(because, one.true, of) : words.told(because, one.true, toldWords(told), of);
}
