// Positions on a flat map: Web Mercator, as tiles have it, so that shapes lie on them; lengths are true at their place.

export type Position = [number, number]; // latitude and longitude, in degrees
export type Point = [number, number]; // x to the right and y down, in pixels of the map or in parts of the world

/** What the map shows: its middle in parts of the world, and how many pixels the world would be wide. */
export interface View { x: number; y: number; scale: number }
/** A map's size in pixels; `rem` is the size of the page's letters. */
export interface Size { wide: number; high: number; rem: number }

const AROUND = 2 * Math.PI * 6_378_137; // metres
const NORTHMOST = 85; // Mercator ends before the poles
export const CLOSEST = AROUND / 0.05; // a pixel is five centimetres
const radians = (degrees: number): number => (degrees * Math.PI) / 180;
const between = (least: number, value: number, most: number): number => Math.min(most, Math.max(least, value));

export function world([latitude, longitude]: Position): Point {
  const sine = Math.sin(radians(between(-NORTHMOST, latitude, NORTHMOST)));
  return [longitude / 360 + 0.5, 0.5 - Math.log((1 + sine) / (1 - sine)) / (4 * Math.PI)];
}

export function position([x, y]: Point): Position {
  const latitude = (360 / Math.PI) * Math.atan(Math.exp((0.5 - y) * 2 * Math.PI)) - 90;
  return [latitude, ((((x % 1) + 1) % 1) - 0.5) * 360];
}

/** How many pixels a metre is, at that latitude. */
export const perMetre = (view: View, latitude: number): number =>
  view.scale / (AROUND * Math.cos(radians(between(-NORTHMOST, latitude, NORTHMOST))));

/** Where a position is on the map; over the date line the shorter way. */
export const onMap = (view: View, size: Size, where: Position): Point => fromWorld(view, size, world(where));

export function fromWorld(view: View, size: Size, [x, y]: Point): Point {
  const east = ((((x - view.x + 0.5) % 1) + 1) % 1) - 0.5;
  return [size.wide / 2 + east * view.scale, size.high / 2 + (y - view.y) * view.scale];
}

export const fromMap = (view: View, size: Size, [x, y]: Point): Position =>
  position([view.x + (x - size.wide / 2) / view.scale, view.y + (y - size.high / 2) / view.scale]);

export function metresBetween(a: Position, b: Position): number {
  const [p, q] = [radians(a[0]), radians(b[0])];
  const half = Math.sin((q - p) / 2) ** 2 + Math.cos(p) * Math.cos(q) * Math.sin(radians(b[1] - a[1]) / 2) ** 2;
  return 2 * 6_371_008.8 * Math.asin(Math.min(1, Math.sqrt(half)));
}

/** Positions on the rim of a circle, in the four directions. */
export function rim([latitude, longitude]: Position, metres: number): Position[] {
  const north = (metres * 360) / AROUND;
  const east = north / Math.cos(radians(between(-NORTHMOST, latitude, NORTHMOST)));
  return [[latitude + north, longitude], [latitude - north, longitude], [latitude, longitude + east],
    [latitude, longitude - east]];
}

/** A circle on the ground, as a ring of positions. */
export function ringOf([latitude, longitude]: Position, metres: number): Position[] {
  const north = (metres * 360) / AROUND;
  const east = north / Math.cos(radians(between(-NORTHMOST, latitude, NORTHMOST)));
  return Array.from({ length: 48 }, (_, k): Position => {
    const turn = (2 * Math.PI * k) / 48;
    return [latitude + north * Math.sin(turn), longitude + east * Math.cos(turn)];
  });
}

/** The view that shows these positions; `least` metres across, for one alone has no size. */
export function around(positions: Position[], size: Size, least = 400): View {
  if (!positions.length) return { x: 0.5, y: 0.4, scale: Math.max(256, size.wide) };
  const points = positions.map(world);
  const start = points[0]?.[0] ?? 0.5;
  const xs = points.map(([x]) => start + ((((x - start + 0.5) % 1) + 1) % 1) - 0.5);
  const ys = points.map(([, y]) => y);
  const [left, right, top, bottom] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
  const latitude = position([left, (top + bottom) / 2])[0];
  const small = least / (AROUND * Math.cos(radians(latitude)));
  const room = (side: number): number => Math.max(40, side - 120); // for names, and for the tools
  const scale = Math.min(room(size.wide) / Math.max(right - left, small), room(size.high) / Math.max(bottom - top, small));
  return { x: (left + right) / 2, y: (top + bottom) / 2, scale: between(200, scale, CLOSEST) };
}

/** Around a point of the map that stays where it is. */
export function zoomed(view: View, size: Size, times: number, [x, y]: Point): View {
  const scale = between(200, view.scale * times, CLOSEST);
  const [east, south] = [x - size.wide / 2, y - size.high / 2];
  const moved = { x: view.x + east / view.scale - east / scale, y: view.y + south / view.scale - south / scale };
  return { ...moved, y: between(0, moved.y, 1), scale };
}

export const panned = (view: View, east: number, south: number): View =>
  ({ x: view.x + east / view.scale, y: between(0, view.y + south / view.scale, 1), scale: view.scale });

/** Whether rings enclose a point, by the even-odd rule. */
export function encloses(rings: Point[][], [x, y]: Point): boolean {
  let odd = false;
  for (const ring of rings)
    ring.forEach(([x0, y0], k) => {
      const [x1, y1] = ring[(k + 1) % ring.length] ?? [x0, y0];
      if (y0 <= y !== y1 <= y && x < x0 + ((y - y0) * (x1 - x0)) / (y1 - y0)) odd = !odd;
    });
  return odd;
}

/** The smallest round length of at most so many metres: 1, 2 or 5 and zeros. */
export function round(most: number): number {
  const power = 10 ** Math.floor(Math.log10(most));
  return Math.max(...[1, 2, 5].filter((one) => one * power <= most * 1.0001)) * power;
}

interface Box { left: number; top: number; right: number; bottom: number }
export interface Label { text: string; x: number; y: number; anchor: "start" | "middle" | "end" }

const LETTER = 0.475; // of the size of the page's letters
const LINE = 1.06;
const FOREMOST = 10; // spots whose names matter most

/** Names beside spots of a radius, none on another name, on another spot, or below the tools and the scale; what finds
 * no room has none. */
export function labels(spots: { text: string; at: Point; radius: number }[], size: Size): Label[] {
  const { rem } = size;
  const taken: Box[] = [
    ...spots.map(({ at: [x, y] }) => ({ left: x - 4, right: x + 4, top: y - 4, bottom: y + 4 })),
    { left: size.wide - 3.8 * rem, right: size.wide, top: 0, bottom: 10 * rem }, // the tools
    { left: 0, right: 10 * rem, top: size.high - 2.2 * rem, bottom: size.high }, // the scale
  ];
  const found: Label[] = [];
  spots.forEach(({ text, at: [x, y], radius }, own) => {
    const wide = [...text].length * LETTER * rem + 6;
    const away = Math.min(radius, 60) + 6;
    const tries: [number, number, Label["anchor"]][] = [
      [x, y + away + 0.65 * rem, "middle"], [x, y - away - 1, "middle"], [x + away, y + 0.3 * rem, "start"],
      [x - away, y + 0.3 * rem, "end"],
    ];
    const passes = own < FOREMOST ? [0, spots.length] : [0]; // the second time, names may lie on spots
    for (const [over, [at, base, anchor]] of passes.flatMap((one) => tries.map((each) => [one, each] as const))) {
      const left = anchor === "start" ? at : anchor === "end" ? at - wide : at - wide / 2;
      const box = { left, right: left + wide, top: base - (LINE - 0.2) * rem, bottom: base + 0.25 * rem };
      const inside = box.left >= 2 && box.right <= size.wide - 2 && box.top >= 2 && box.bottom <= size.high - 2;
      const free = taken.every((one, k) => k === own || k < over || one.right <= box.left || one.left >= box.right
        || one.bottom <= box.top || one.top >= box.bottom);
      if (!inside || !free) continue;
      taken.push(box);
      found.push({ text, x: at, y: base, anchor });
      return;
    }
  });
  return found;
}
