// Why something else was told than the truth: a sentence, and its figures, from the rows that bind (the gateway's
// `silences`).

import type { Day, Slot } from "./api";
import { clock, otherDay } from "./locale";
import { label } from "./labels";
import { texts } from "./texts";

export interface Reason { sentence: string; figures: string }

const plain = (sentence: string): Reason => ({ sentence, figures: "" });

/** The reason for a slot; null where the truth was told, or why it was not is not kept. */
export function reason(day: Day, one: Slot): Reason | null {
  const words = texts.today.why;
  const { why, told } = one;
  if (!why || !told || one.true === null) return null;
  const lead = words.lead(label(told), told.kind === "generalized");
  const row = why.rows[0];
  if (!why.possible) return plain(words.impossible(lead));
  if (!row) return plain(words.nothing(lead));
  const figures = words.limit(row.secret, row.belief, row.limit);
  if (row.own) return { sentence: words.own(lead, one.true), figures };
  const time = row.slots === 1 ? clock(day.zone)(row.start) : ""; // a window has none of its own
  const other = otherDay(day.zone, one.start, row.start);
  const of = words.of(row.secret, time, other, why.others + why.rows.length - 1);
  const shown = row.by === "truth";
  const seen = label(told) ?? words.gap;
  const sentence = why.share > 0 ? words.chance(one.true, why.share, shown ? words.it : seen, of)
    : shown ? words.truth(lead, one.true, of) : words.told(lead, one.true, seen, of);
  return { sentence, figures };
}
