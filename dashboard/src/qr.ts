// QR codes (ISO/IEC 18004): bytes, levels L and M, versions 1 to 20. A token is shown so that a phone can read it.

export type Level = "L" | "M";

// For each version: codewords of error correction in a block, and how many blocks (table 9).
const CORRECTION: Record<Level, number[]> = {
  L: [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28],
  M: [10, 16, 26, 18, 24, 16, 18, 22, 22, 26, 30, 22, 22, 24, 24, 28, 28, 26, 26, 26],
};
const BLOCKS: Record<Level, number[]> = {
  L: [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8],
  M: [1, 1, 1, 2, 2, 4, 4, 4, 5, 5, 5, 8, 9, 9, 10, 10, 11, 13, 14, 16],
};
const FORMAT: Record<Level, number> = { L: 1, M: 0 };

/** The modules of a code, row by row; true is dark. Text that no version holds is an error. */
export function qr(text: string, level: Level = "M"): boolean[][] {
  const bytes = [...new TextEncoder().encode(text)];
  const version = BLOCKS[level].findIndex((_, k) => headed(k + 1) + bytes.length * 8 <= 8 * roomFor(k + 1, level)) + 1;
  if (version === 0) throw new Error("this is too long for a code");
  const grid = new Grid(version);
  grid.fill(interleaved(codewords(bytes, version, level), version, level));
  return grid.masked(FORMAT[level]);
}

const headed = (version: number): number => (version < 10 ? 12 : 20); // bits of mode and length

/** Modules that hold codewords. */
function modules(version: number): number {
  const pairs = alignment(version).length;
  const size = 4 * version + 17;
  const patterns = pairs ? 25 * (pairs * pairs - 3) - 10 * (pairs - 2) : 0;
  return size * size - 3 * 64 - 2 * (size - 16) - 31 - patterns - (version > 6 ? 36 : 0);
}

const roomFor = (version: number, level: Level): number =>
  Math.floor(modules(version) / 8) - (CORRECTION[level][version - 1] ?? 0) * (BLOCKS[level][version - 1] ?? 0);

/** Rows and columns of the middles of alignment patterns (annex E). */
function alignment(version: number): number[] {
  if (version === 1) return [];
  const count = Math.floor(version / 7) + 2;
  const last = 4 * version + 10;
  const step = Math.ceil((last - 6) / (count - 1) / 2) * 2;
  return [6, ...Array.from({ length: count - 1 }, (_, k) => last - step * (count - 2 - k))];
}

function codewords(bytes: number[], version: number, level: Level): number[] {
  const bits: number[] = [];
  const add = (value: number, length: number) => {
    for (let k = length - 1; k >= 0; k--) bits.push((value >> k) & 1);
  };
  add(4, 4);
  add(bytes.length, version < 10 ? 8 : 16);
  for (const one of bytes) add(one, 8);
  const room = 8 * roomFor(version, level);
  add(0, Math.min(4, room - bits.length));
  add(0, (8 - (bits.length % 8)) % 8);
  for (let pad = 0xec; bits.length < room; pad ^= 0xec ^ 0x11) add(pad, 8);
  return Array.from({ length: bits.length / 8 }, (_, k) => bits.slice(8 * k, 8 * k + 8).reduce((a, b) => 2 * a + b, 0));
}

/** Blocks with their error correction, a codeword of each in turn; the first blocks may be one shorter. */
function interleaved(data: number[], version: number, level: Level): number[] {
  const count = BLOCKS[level][version - 1] ?? 1;
  const generator = divisor(CORRECTION[level][version - 1] ?? 7);
  const short = Math.floor(data.length / count);
  const blocks: number[][] = [];
  for (let from = 0, k = 0; k < count; k++) {
    const long = short + (k >= count - (data.length % count) ? 1 : 0);
    blocks.push(data.slice(from, from + long));
    from += long;
  }
  const turns = (lists: number[][]): number[] =>
    Array.from({ length: Math.max(...lists.map((one) => one.length)) }, (_, k) => lists.flatMap((one) => one[k] ?? []))
      .flat();
  return [...turns(blocks), ...turns(blocks.map((one) => remainder(one, generator)))];
}

// --- Reed and Solomon, over the field of 256 elements by x^8 + x^4 + x^3 + x^2 + 1

function times(a: number, b: number): number {
  let product = 0;
  for (let k = 7; k >= 0; k--) product = (product << 1) ^ ((product >> 7) * 0x11d) ^ (((b >> k) & 1) * a);
  return product;
}

function divisor(degree: number): number[] {
  let found = [1];
  for (let k = 0, root = 1; k < degree; k++, root = times(root, 2))
    found = [...found, 0].map((one, i) => one ^ (i ? times(found[i - 1] ?? 0, root) : 0));
  return found.slice(1);
}

function remainder(data: number[], generator: number[]): number[] {
  let left = generator.map(() => 0);
  for (const one of data) {
    const factor = one ^ (left[0] ?? 0);
    left = generator.map((each, k) => (left[k + 1] ?? 0) ^ times(each, factor));
  }
  return left;
}

// --- the square

const MASKS: ((row: number, column: number) => number)[] = [
  (i, j) => (i + j) % 2,
  (i) => i % 2,
  (_, j) => j % 3,
  (i, j) => (i + j) % 3,
  (i, j) => (Math.floor(i / 2) + Math.floor(j / 3)) % 2,
  (i, j) => ((i * j) % 2) + ((i * j) % 3),
  (i, j) => (((i * j) % 2) + ((i * j) % 3)) % 2,
  (i, j) => (((i + j) % 2) + ((i * j) % 3)) % 2,
];

class Grid {
  readonly size: number;
  readonly dark: boolean[][];
  readonly fixed: boolean[][]; // patterns, which no mask touches

  constructor(readonly version: number) {
    this.size = 4 * version + 17;
    this.dark = Array.from({ length: this.size }, () => Array<boolean>(this.size).fill(false));
    this.fixed = this.dark.map((row) => [...row]);
    this.patterns();
  }

  private set(row: number, column: number, dark: boolean): void {
    const [line, known] = [this.dark[row], this.fixed[row]];
    if (!line || !known || column < 0 || column >= this.size) return;
    line[column] = dark;
    known[column] = true;
  }

  private patterns(): void {
    const end = this.size - 1;
    for (let k = 0; k < this.size; k++) {
      this.set(6, k, k % 2 === 0);
      this.set(k, 6, k % 2 === 0);
    }
    for (const [row, column] of [[3, 3], [3, end - 3], [end - 3, 3]] as const) this.rings(row, column, 4);
    const middles = alignment(this.version);
    const last = middles.length - 1;
    middles.forEach((row, i) => middles.forEach((column, j) => {
      if (!((i === 0 && (j === 0 || j === last)) || (i === last && j === 0))) this.rings(row, column, 2);
    }));
    this.format(0, 0);
    if (this.version > 6) this.versions();
  }

  /** A square of rings: of 4 around a corner's middle, with its white edge; of 2 for alignment. */
  private rings(row: number, column: number, reach: number): void {
    for (let i = -reach; i <= reach; i++)
      for (let j = -reach; j <= reach; j++) {
        const ring = Math.max(Math.abs(i), Math.abs(j));
        this.set(row + i, column + j, reach === 4 ? ring !== 2 && ring !== 4 : ring !== 1);
      }
  }

  private format(level: number, mask: number): void {
    const data = (level << 3) | mask;
    const bits = ((data << 10) | modulo(data, 10, 0x537)) ^ 0x5412;
    const bit = (k: number): boolean => ((bits >> k) & 1) === 1;
    const end = this.size - 1;
    for (let k = 0; k < 6; k++) this.set(k, 8, bit(k));
    this.set(7, 8, bit(6));
    this.set(8, 8, bit(7));
    this.set(8, 7, bit(8));
    for (let k = 9; k < 15; k++) this.set(8, 14 - k, bit(k));
    for (let k = 0; k < 8; k++) this.set(8, end - k, bit(k));
    for (let k = 8; k < 15; k++) this.set(end - 14 + k, 8, bit(k));
    this.set(end - 7, 8, true);
  }

  private versions(): void {
    const bits = (this.version << 12) | modulo(this.version, 12, 0x1f25);
    for (let k = 0; k < 18; k++) {
      const [far, near] = [this.size - 11 + (k % 3), Math.floor(k / 3)];
      this.set(near, far, ((bits >> k) & 1) === 1);
      this.set(far, near, ((bits >> k) & 1) === 1);
    }
  }

  /** Codewords from the lower right corner on, two columns at a time, up and down. */
  fill(words: number[]): void {
    let bit = 0;
    for (let right = this.size - 1; right > 0; right -= 2) {
      if (right === 6) right = 5;
      for (let step = 0; step < this.size; step++)
        for (const column of [right, right - 1]) {
          const row = ((right + 1) & 2) === 0 ? this.size - 1 - step : step;
          const line = this.dark[row];
          if (!line || this.fixed[row]?.[column]) continue;
          line[column] = (((words[bit >> 3] ?? 0) >> (7 - (bit & 7))) & 1) === 1;
          bit += 1;
        }
    }
  }

  /** With the mask that is easiest to read. */
  masked(level: number): boolean[][] {
    const tried = MASKS.map((flips, mask) => {
      this.format(level, mask);
      return this.dark.map((line, i) => line.map((one, j) => one !== (!this.fixed[i]?.[j] && flips(i, j) === 0)));
    });
    const faults = tried.map(penalty);
    return tried[faults.indexOf(Math.min(...faults))] ?? this.dark;
  }
}

/** What is left of a number by a polynomial of that degree: the check bits of format and version. */
function modulo(data: number, degree: number, polynomial: number): number {
  let left = data;
  for (let k = 0; k < degree; k++) left = (left << 1) ^ ((left >> (degree - 1)) * polynomial);
  return left;
}

/** How hard a code is to read (section 7.8.3): runs, blocks, what looks like a corner, and too much of one colour. */
function penalty(grid: boolean[][]): number {
  const lines = [...grid, ...grid.map((_, j) => grid.map((line) => line[j] ?? false))];
  let faults = 0;
  for (const line of lines) {
    const text = line.map((one) => (one ? "1" : "0")).join("");
    for (const run of text.match(/0{5,}|1{5,}/g) ?? []) faults += run.length - 2;
    for (const corner of ["10111010000", "00001011101"])
      for (let at = text.indexOf(corner); at >= 0; at = text.indexOf(corner, at + 1)) faults += 40;
  }
  let dark = 0;
  grid.forEach((line, i) => line.forEach((one, j) => {
    dark += Number(one);
    if (one === line[j + 1] && one === grid[i + 1]?.[j] && one === grid[i + 1]?.[j + 1]) faults += 3;
  }));
  return faults + 10 * Math.floor(Math.abs((20 * dark) / grid.length ** 2 - 10));
}
