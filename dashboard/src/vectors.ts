// Vector tiles (MVT 2.1) as paths: what a map needs to be recognised, of the schemas of Protomaps and OpenMapTiles.

/** One tile: a path for each kind of thing, in the order in which they are drawn, and names of towns and quarters. */
export interface VectorTile { extent: number; paths: { kind: Kind; d: string }[]; names: { text: string; x: number; y: number }[] }

const ORDER = ["land", "green", "water", "building", "stream", "border", "path", "road", "main", "wide", "rail"] as const;
type Kind = (typeof ORDER)[number];

const GREEN = /park|forest|wood|grass|nature|meadow|garden|golf|recreation|pitch|scrub|cemetery|heath|orchard|vineyard|wetland/;
const WIDE = /^(highway|motorway|trunk)/;
const MAIN = /^(major_road|primary|secondary|tertiary)/;
const PATH = /^(path|other|track|footway|pedestrian|service|cycleway|steps)/;
const NAMED = /^(city|town|village|locality|suburb|neighbourhood|quarter|hamlet|macrohood)/;

const POINT = 1;
const LINE = 2;

/** What a feature is drawn as; null where it is left out. */
function kindOf(layer: string, type: number, kind: string): Kind | null {
  switch (layer) {
    case "earth": return type === LINE ? null : "land";
    case "water": case "ocean": case "water_polygons": return type === LINE ? "stream" : "water";
    case "waterway": case "physical_line": return "stream";
    case "buildings": case "building": return "building";
    case "boundaries": case "boundary": return "border";
    case "transit": return "rail";
    case "roads": case "streets": case "transportation":
      return type !== LINE ? null : /rail|transit/.test(kind) ? "rail" : WIDE.test(kind) ? "wide" : MAIN.test(kind) ? "main"
        : PATH.test(kind) ? "path" : "road";
    case "landuse": case "landcover": case "natural": case "park": case "land":
      return type !== LINE && (layer === "park" || GREEN.test(kind)) ? "green" : null;
    default: return null;
  }
}

/** Fields of a message of protocol buffers, one after another. */
class Fields {
  at = 0;
  constructor(readonly bytes: Uint8Array) {}

  get more(): boolean { return this.at < this.bytes.length; }

  number(): number {
    let value = 0;
    for (let power = 1; ; power *= 128) {
      const byte = this.bytes[this.at++];
      if (byte === undefined || power > 2 ** 63) throw new Error("a number ends too early");
      value += (byte & 127) * power;
      if (byte < 128) return value;
    }
  }

  part(): Uint8Array {
    const long = this.number();
    const found = this.bytes.subarray(this.at, this.at + long);
    if (found.length !== long) throw new Error("a message ends too early");
    this.at += long;
    return found;
  }

  skip(wire: number): void {
    if (wire === 0) this.number();
    else if (wire === 2) this.part();
    else if (wire === 1 || wire === 5) this.at += wire === 1 ? 8 : 4;
    else throw new Error("no such field");
  }

  /** Calls for each field that is asked for, and skips the others. */
  each(fields: Record<number, () => void>): void {
    while (this.more) {
      const key = this.number();
      const read = fields[Math.floor(key / 8)];
      if (read) read();
      else this.skip(key % 8);
    }
  }
}

const letters = new TextDecoder();

interface Feature { type: number; tags: number[]; geometry: Uint8Array }

function numbers(packed: Uint8Array): number[] {
  const fields = new Fields(packed);
  const found: number[] = [];
  while (fields.more) found.push(fields.number());
  return found;
}

const signed = (value: number): number => (value % 2 ? -(value + 1) / 2 : value / 2);

/** A geometry as a path; of points the first alone. */
function pathOf(geometry: Uint8Array): { d: string; first: [number, number] } {
  const fields = new Fields(geometry);
  let [x, y, d] = [0, 0, ""];
  let first: [number, number] | null = null;
  while (fields.more) {
    const command = fields.number();
    const [what, times] = [command % 8, Math.floor(command / 8)];
    if (what === 7) d += "Z";
    else for (let k = 0; k < times; k += 1) {
      const [east, south] = [signed(fields.number()), signed(fields.number())];
      [x, y] = [x + east, y + south];
      d += what === 1 ? `M${x} ${y}` : `l${east} ${south}`;
      first ??= [x, y];
    }
  }
  return { d, first: first ?? [0, 0] };
}

function readLayer(bytes: Uint8Array, drawn: Map<Kind, string>, names: VectorTile["names"]): number {
  const fields = new Fields(bytes);
  let [name, extent] = ["", 4096];
  const features: Feature[] = [];
  const keys: string[] = [];
  const values: string[] = [];
  fields.each({
    1: () => (name = letters.decode(fields.part())),
    2: () => {
      const own = new Fields(fields.part());
      const made: Feature = { type: 0, tags: [], geometry: new Uint8Array() };
      own.each({
        2: () => (made.tags = numbers(own.part())),
        3: () => (made.type = own.number()),
        4: () => (made.geometry = own.part()),
      });
      features.push(made);
    },
    3: () => keys.push(letters.decode(fields.part())),
    4: () => {
      const own = new Fields(fields.part());
      let text = "";
      own.each({ 1: () => (text = letters.decode(own.part())) });
      values.push(text);
    },
    5: () => (extent = fields.number()),
  });
  const tag = (one: Feature, wanted: string): string => {
    for (let k = 0; k + 1 < one.tags.length; k += 2)
      if (keys[one.tags[k] ?? -1] === wanted) return values[one.tags[k + 1] ?? -1] ?? "";
    return "";
  };
  for (const one of features) {
    const kind = tag(one, "kind") || tag(one, "class");
    if (one.type === POINT) {
      const text = /^places?$/.test(name) && NAMED.test(kind) ? tag(one, "name") : "";
      const [x, y] = text ? pathOf(one.geometry).first : [-1, -1];
      if (x >= 0 && y >= 0 && x < extent && y < extent) names.push({ text, x, y }); // its neighbour has the others
      continue;
    }
    const as = kindOf(name, one.type, kind);
    if (as) drawn.set(as, (drawn.get(as) ?? "") + pathOf(one.geometry).d);
  }
  return extent;
}

/** The paths of a tile; what cannot be read of it is left out. */
export function decoded(bytes: Uint8Array): VectorTile {
  const drawn = new Map<Kind, string>();
  const names: VectorTile["names"] = [];
  let extent = 4096;
  try {
    const fields = new Fields(bytes);
    fields.each({ 3: () => (extent = readLayer(fields.part(), drawn, names)) });
  } catch { /* damaged: as far as it went */ }
  return { extent, names, paths: ORDER.flatMap((kind) => (drawn.has(kind) ? [{ kind, d: drawn.get(kind) ?? "" }] : [])) };
}
