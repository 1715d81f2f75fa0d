// Decide on a phone what applications see, by a table from `discreet export`. Runs in Node 20 and in browsers, alone.
//
//     node decide.mjs decisions.json < contexts.txt
//
// reads the day's true contexts, one a slot, an empty line where there is no reading, and writes what to show: the
// context, or an empty line for silence. docs/phone.md describes the file.

const UNKNOWN = "unknown"; // the context of a slot without a reading

/** The file cannot be used; the message says why. */
export class TableError extends Error {}

/** A table, read and checked whole before anything is decided by it. */
export async function readDecisions(text) {
  let table, told;
  try {
    ({ digest: told, ...table } = JSON.parse(text));
  } catch {
    throw new TableError("this is no table of decisions, or a part of one; export it again");
  }
  if (table.format === undefined || table.version === undefined || told === undefined) {
    throw new TableError("this is no table of decisions, or a part of one; export it again");
  }
  if (table.format !== "discreet decisions") {
    throw new TableError("this is another kind of file; give one that discreet export wrote");
  }
  if (table.version !== 1) {
    throw new TableError(`the table has format version ${table.version}, and this reader knows 1; use a newer reader`);
  }
  const content = new TextEncoder().encode(JSON.stringify(table));
  const sum = new Uint8Array(await crypto.subtle.digest("SHA-256", content));
  if (Array.from(sum, (byte) => byte.toString(16).padStart(2, "0")).join("") !== told) {
    throw new TableError("the table is damaged: its digest is another; copy it or export it again");
  }
  return {
    slots: table.slots,
    contexts: table.contexts,
    memory: table.memory,
    index: new Map(table.contexts.map((context, number) => [context, number])),
    runs: new Map(table.runs.map(([slot, context, numbers]) => [`${slot} ${context}`, numbers])),
    decisions: table.decisions.map(([bits, states, weights]) => ({
      bits,
      weights: new Map(states.map((state, number) => [state, weights[number]])),
    })),
  };
}

/** A uniform integer below 2**count, count at most 52: a number holds it exactly. */
export function randomBits(count) {
  const [high, low] = crypto.getRandomValues(new Uint32Array(2));
  return Math.floor(((high & 0xfffff) * 2 ** 32 + low) / 2 ** (52 - count));
}

/** One day: `decide` once a slot. `saved` is what to keep, on the phone alone, where the program may be stopped. */
export class Day {
  constructor(table, bits = randomBits, saved = null) {
    this.table = table;
    this.bits = bits;
    // the next slot; the last release, when and what; the true context before; readings until memory is sure again
    this.saved = { slot: 0, last: [-1, -1], before: null, unsure: 0, skipped: false, ...saved };
  }

  /** What to show in this slot of the true context: the context, or null for silence. */
  decide(context = null) {
    const now = { ...this.saved };
    if (now.slot >= this.table.slots) {
      throw new RangeError(`the day has ${this.table.slots} slots and all are decided; begin a new day`);
    }
    const here = this.table.index.get(context ?? UNKNOWN);
    const state = this.#private(now, here);
    const released = !now.skipped && state !== null && this.#drawn(now, state);
    if (released) now.last = [now.slot, here];
    now.slot += 1;
    this.saved = now;
    return released ? this.table.contexts[here] : null;
  }

  /** Pass a slot in which the phone was off; it is silent then until the day ends. */
  skip() {
    this.saved = { ...this.saved, slot: this.saved.slot + 1, skipped: true };
  }

  /** The private state with this reading; null where the table knows no such context, or memory is not sure. */
  #private(now, here) {
    const { memory } = this.table;
    const before = now.before;
    if (here === undefined) {
      now.before = 0;
      now.unsure = memory === null ? 1 : 2;
      return null;
    }
    now.before = here;
    now.unsure = Math.max(0, now.unsure - 1);
    if (now.unsure) return null;
    if (memory === null) return here;
    return before === null ? memory.first[here] : memory.after[before][here];
  }

  /** Whether the truth is told: one comparison of integers. What the table holds impossible is not drawn for. */
  #drawn(now, state) {
    const [slot, context] = now.last;
    const { bits, weights } = this.table.decisions[this.table.runs.get(`${slot} ${context}`)[now.slot - slot - 1]];
    return weights.has(state) && this.bits(bits) < weights.get(state);
  }
}

/** Decide a day that stands on standard input. */
async function main(path) {
  const { readFile } = await import("node:fs/promises");
  const { createInterface } = await import("node:readline");
  const today = new Day(await readDecisions(await readFile(path, "utf8")));
  for await (const line of createInterface({ input: process.stdin })) {
    console.log(today.decide(line.trim() || null) ?? "");
  }
}

if (globalThis.process?.argv?.[1]?.endsWith("decide.mjs")) {
  main(process.argv[2] ?? "decisions.json").catch((error) => {
    console.error(`decide: ${error.message}`);
    process.exitCode = 1;
  });
}
