import "./map.css";
import type { JSX } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import {
  around, encloses, fromMap, fromWorld, labels, metresBetween, onMap, panned, perMetre, rim, round, world, zoomed,
  type Point, type Position, type Size, type View,
} from "./geo";
import { length } from "./locale";
import { texts } from "./texts";
import { decoded, type VectorTile } from "./vectors";

export interface Place {
  name: string;
  middle: Position;
  rings: Position[][];
  secret?: boolean;
  colour: string;
  /** Drawn, and not in force yet. */
  waits?: boolean;
}

/** A shape that is being drawn: a circle by its middle and radius, a polygon by its corners. */
export interface Drawing {
  kind: "circle" | "polygon";
  points: Position[];
  radius: number;
  change: (points: Position[], radius: number) => void;
}

/** Zoom levels of the owner's tiles. */
export interface Tiles { least: number; most: number; vector: boolean }

interface Props {
  places: Place[];
  picked: string | null;
  pick: (name: string) => void;
  drawing?: Drawing | null;
  /** Positions that no place explains, and where somebody stays among them. */
  dots?: Position[];
  stays?: { middle: Position; radius: number }[];
  tiles?: Tiles | null;
  label?: string;
}

type Grip = { what: "corner" | "middle" | "rim" | "between"; number: number; at: Point };

const FAR = 80_000; // metres: places further from all others are not on the first view
const STILL = 6; // pixels that a finger moves while it presses

/** Places to scale, north up, moved by pointer, fingers, wheel and keys. It asks nobody for tiles but the gateway. */
export function PlaceMap({ places, picked, pick, drawing, dots, stays, tiles, label }: Props) {
  const words = texts.map;
  const box = useRef<HTMLDivElement>(null);
  const [size, setSize] = useState<Size | null>(null);
  const [given, setView] = useState<View | null>(null); // null: what shows the places, until it is moved
  const first = useMemo(() => size && around(nearby(places, dots ?? []), size), [places, dots, size]);
  const view = given ?? first;
  const now = useRef({ view, size, drawing });
  now.current = { view, size, drawing };

  useEffect(() => {
    const seen = new ResizeObserver(([entry]) => {
      const room = entry?.contentRect;
      const rem = Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16;
      if (room && room.width && room.height) setSize({ wide: room.width, high: room.height, rem });
    });
    if (box.current) seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  useEffect(() => { // a place that is picked elsewhere is brought into view
    const { view, size } = now.current;
    const place = places.find((one) => one.name === picked);
    if (!view || !size || !place) return;
    const [x, y] = onMap(view, size, place.middle);
    const across = reach(place) * perMetre(view, place.middle[0]);
    const out = x < 20 || y < 20 || x > size.wide - 20 || y > size.high - 20;
    if (out || across < 1) setView(around(place.rings.flat(), size, 1500));
  }, [picked]);
  useEffect(() => { // so is what is drawn anew
    const { size } = now.current;
    const [middle] = drawing?.points ?? [];
    if (!drawing || !size || !middle) return;
    setView(around(drawing.kind === "circle" ? rim(middle, 2 * drawing.radius) : drawing.points, size));
  }, [!drawing]);

  const hands = useHands(box, now, setView, (at) => {
    const { view, size, drawing } = now.current;
    if (!view || !size) return;
    if (drawing) put(drawing, fromMap(view, size, at));
    else {
      const found = under(places, view, size, at);
      if (found) pick(found.name);
    }
  });
  const zoom = (times: number) =>
    view && size && setView(zoomed(view, size, times, [size.wide / 2, size.high / 2]));
  const keys: Record<string, () => void> = {
    ArrowLeft: () => view && setView(panned(view, -50, 0)),
    ArrowRight: () => view && setView(panned(view, 50, 0)),
    ArrowUp: () => view && setView(panned(view, 0, -50)),
    ArrowDown: () => view && setView(panned(view, 0, 50)),
    "+": () => zoom(1.5),
    "=": () => zoom(1.5),
    "-": () => zoom(1 / 1.5),
    "0": () => setView(null),
    ...(drawing && view && size
      ? {
          Enter: () => put(drawing, fromMap(view, size, [size.wide / 2, size.high / 2])),
          Backspace: () => drawing.change(drawing.points.slice(0, -1), drawing.radius),
        }
      : {}),
  };
  const pressed = (event: KeyboardEvent) => {
    const act = event.ctrlKey || event.metaKey || event.altKey ? undefined : keys[event.key];
    if (!act) return;
    event.preventDefault();
    act();
  };
  return (
    <div class={drawing ? "map drawing" : "map"}>
      <div class="ground" ref={box} role="application" tabIndex={0} onKeyDown={pressed} {...hands}
        aria-label={`${label ?? words.label}. ${drawing ? words.drawHelp : words.help}`}>
        {view && size && <Drawn {...{ places, picked, drawing, dots, stays, tiles, view, size }} />}
      </div>
      <div class="tools">
        <button type="button" class="quiet" aria-label={words.closer} onClick={() => zoom(1.6)}>+</button>
        <button type="button" class="quiet" aria-label={words.wider} onClick={() => zoom(1 / 1.6)}>−</button>
        <button type="button" class="quiet" aria-label={words.whole} onClick={() => setView(null)}>
          <svg viewBox="0 0 16 16" aria-hidden="true"><path d="M2 6V2h4M10 2h4v4M14 10v4h-4M6 14H2v-4" /></svg>
        </button>
      </div>
    </div>
  );
}

function Drawn({ places, picked, drawing, dots, stays, tiles, view, size }: Omit<Props, "pick" | "label">
  & { view: View; size: Size }) {
  const at = (one: Position): Point => onMap(view, size, one);
  const largest = [...places.keys()].sort((a, b) => reach(places[b]) - reach(places[a]));
  const shapes = largest.flatMap((k) => {
    const place = places[k];
    if (!place) return [];
    const [x, y] = at(place.middle);
    const radius = reach(place) * perMetre(view, place.middle[0]);
    if (x + radius < 0 || y + radius < 0 || x - radius > size.wide || y - radius > size.high) return [];
    const rings = onWorld(place).map((ring) => ring.map((one) => fromWorld(view, size, one)));
    return [{ place, k, rings, at: [x, y] as Point, radius }];
  });
  const named = [...shapes].sort((a, b) =>
    first(b.place, picked) - first(a.place, picked) || a.k - b.k);
  const below = tiles ? tilesOf(tiles, view, size) : [];
  const vectors = useVectors(tiles?.vector ? below.map((one) => one.name) : []);
  const towns = below.flatMap((one) => (vectors.get(one.name)?.names ?? []).map(({ text, x, y }) => {
    const share = one.wide / (vectors.get(one.name)?.extent ?? 4096);
    return { text, at: [one.x + x * share, one.y + y * share] as Point, radius: 0 };
  }));
  const ours = new Set(named.map((one) => one.place.name));
  return (
    <svg width={size.wide} height={size.high} aria-hidden="true">
      {tiles && <g class={tiles.vector ? "vectors" : "tiles"}>
        {below.map((one) => (tiles.vector ? <Vectors key={one.name} at={one} tile={vectors.get(one.name)} />
          : <image key={one.name} href={address(one.name)} x={one.x} y={one.y} width={one.wide + 0.5} height={one.wide + 0.5} />))}
      </g>}
      <Grid view={view} size={size} />
      {dots && <path class="dots" d={dots.map(at).filter((one) => within(one, size)).map(moveTo).join("")} />}
      {!drawing && stays?.map(({ middle, radius }, k) => {
        const [x, y] = at(middle);
        const wide = Math.max(0.7 * size.rem, radius * perMetre(view, middle[0]));
        return <g key={k} class="stay"><circle cx={x} cy={y} r={wide} />
          <text x={x} y={y + 0.28 * size.rem} text-anchor="middle">{k + 1}</text></g>;
      })}
      {shapes.map(({ place, k, rings, at: [x, y], radius }) => (
        <g key={k} class={classes(place, picked)} style={{ "--c": place.colour } as JSX.CSSProperties}>
          {radius > 3 && <path class="shape" d={rings.map(closed).join("")} />}
          {radius < 7 && <circle class="spot" cx={x} cy={y} r={size.rem / 4} />}
        </g>
      ))}
      {labels([...named.map(({ place, at, radius }) => ({ text: place.name, at, radius })), ...towns], size).map((one) => (
        <text key={`${one.text} ${one.x}`} class={one.text === picked ? "picked" : ours.has(one.text) ? "" : "town"} x={one.x} y={one.y}
          text-anchor={one.anchor}>{one.text}</text>
      ))}
      {drawing && <Shape drawing={drawing} view={view} size={size} />}
      {drawing && <path class="cross" d={`M${size.wide / 2 - 8} ${size.high / 2}h16m-8 -8v16`} />}
      <Bar view={view} size={size} />
    </svg>
  );
}

function Shape({ drawing, view, size }: { drawing: Drawing; view: View; size: Size }) {
  const points = drawing.points.map((one) => onMap(view, size, one));
  const [middle] = points;
  const radius = drawing.points[0] ? drawing.radius * perMetre(view, drawing.points[0][0]) : 0;
  return (
    <g class="new">
      {drawing.kind === "circle" && middle && <circle class="edge" cx={middle[0]} cy={middle[1]} r={radius} />}
      {drawing.kind === "polygon" && <path class="edge" d={points.length > 2 ? closed(points) : line(points)} />}
      {grips(drawing, view, size).map((grip) => (
        <circle key={`${grip.what}${grip.number}`} class={`grip ${grip.what}`} cx={grip.at[0]} cy={grip.at[1]}
          r={grip.what === "between" ? 5 : 8} />
      ))}
    </g>
  );
}

/** Faint lines as far apart as the bar is long; the bar, and where north is. */
function Grid({ view, size }: { view: View; size: Size }) {
  const [, step] = scaleOf(view, size);
  const [left, top] = onMap(view, size, [0, 0]);
  const lines: string[] = [];
  for (let x = ((left % step) + step) % step; x < size.wide; x += step) lines.push(`M${x.toFixed(1)} 0V${size.high}`);
  for (let y = ((top % step) + step) % step; y < size.high; y += step) lines.push(`M0 ${y.toFixed(1)}H${size.wide}`);
  return <path class="grid" d={lines.join("")} />;
}

function Bar({ view, size }: { view: View; size: Size }) {
  const [metres, wide] = scaleOf(view, size);
  const y = size.high - 12;
  return (
    <g class="bar">
      <path d={`M12 ${y - 5}v5h${wide.toFixed(1)}v-5`} />
      <text x={17} y={y - 6}>{length(metres)}</text>
      <path d={`M${size.wide - 18} ${y}v-20m-5 8l5 -8l5 8`} />
      <text x={size.wide - 18} y={y - 25} text-anchor="middle">{texts.map.north}</text>
    </g>
  );
}

function scaleOf(view: View, size: Size): [metres: number, pixels: number] {
  const pixels = perMetre(view, fromMap(view, size, [size.wide / 2, size.high / 2])[0]);
  const metres = round(Math.min(size.wide, 600) / 4 / pixels);
  return [metres, metres * pixels];
}

const TILE = 256;

interface Tile { name: string; x: number; y: number; wide: number }

const address = (name: string): string => `v1/owner/tiles/${name}`;

/** The tiles that are seen, and where. */
function tilesOf(tiles: Tiles, view: View, size: Size): Tile[] {
  const zoom = Math.min(tiles.most, Math.max(tiles.least, Math.round(Math.log2(view.scale / TILE))));
  const many = 2 ** zoom;
  const wide = view.scale / many;
  if (wide < TILE / 4) return []; // further out than the file goes: there would be too many
  const [west, north] = [view.x * many - size.wide / 2 / wide, view.y * many - size.high / 2 / wide];
  const found: Tile[] = [];
  for (let x = Math.floor(west); x < west + size.wide / wide; x++)
    for (let y = Math.max(0, Math.floor(north)); y < Math.min(many, north + size.high / wide); y++)
      found.push({ name: `${zoom}/${((x % many) + many) % many}/${y}`, x: (x - west) * wide, y: (y - north) * wide, wide });
  return found;
}

const KEPT = 120; // tiles that are kept, decoded
const read = new Map<string, VectorTile | null>(); // null while one is under way, or where there is none
const watching = new Set<() => void>(); // maps that are drawn anew when a tile comes

/** These vector tiles, as far as they are there; drawn anew when one comes. */
function useVectors(names: string[]): Map<string, VectorTile | null> {
  const [, setCame] = useState(0);
  useEffect(() => {
    const came = () => setCame((before) => before + 1);
    watching.add(came);
    return () => void watching.delete(came);
  }, []);
  useEffect(() => {
    for (const name of names) {
      if (read.has(name)) continue;
      read.set(name, null);
      fetch(address(name)).then(async (answer) => {
        if (answer.status !== 200) return;
        read.set(name, decoded(new Uint8Array(await answer.arrayBuffer())));
        for (const came of watching) came();
      }).catch(() => read.delete(name));
    }
    for (const oldest of read.keys()) {
      if (read.size <= KEPT) break;
      if (!names.includes(oldest)) read.delete(oldest);
    }
  }, [names.join(" ")]);
  return read;
}

const Vectors = ({ at, tile }: { at: Tile; tile: VectorTile | null | undefined }) => tile ? (
  <svg x={at.x} y={at.y} width={at.wide + 0.5} height={at.wide + 0.5} viewBox={`0 0 ${tile.extent} ${tile.extent}`}>
    {tile.paths.map(({ kind, d }) => <path key={kind} class={kind} d={d} />)}
  </svg>
) : null;

// --- hands

type Now = { current: { view: View | null; size: Size | null; drawing?: Drawing | null } };

/** One pointer moves the map or a grip, two pinch it, a wheel zooms; one that presses and stays has pressed. */
function useHands(
  box: { current: HTMLElement | null }, now: Now, move: (view: View) => void, press: (at: Point) => void,
): JSX.HTMLAttributes<HTMLDivElement> {
  const down = useRef(new Map<number, Point>());
  const start = useRef<Point | null>(null); // while it has not moved
  const held = useRef<Grip | null>(null);
  const at = (event: MouseEvent): Point => {
    const room = box.current?.getBoundingClientRect();
    return [event.clientX - (room?.left ?? 0), event.clientY - (room?.top ?? 0)];
  };
  useEffect(() => {
    const wheel = (event: WheelEvent) => {
      const { view, size } = now.current;
      if (!view || !size) return;
      event.preventDefault();
      const lines = event.deltaMode === 1 ? 20 : 1;
      move(zoomed(view, size, Math.exp(-Math.max(-60, Math.min(60, event.deltaY * lines)) / 200), at(event)));
    };
    box.current?.addEventListener("wheel", wheel, { passive: false });
    return () => box.current?.removeEventListener("wheel", wheel);
  }, []);
  const up = (event: PointerEvent, pressed: boolean) => {
    down.current.delete(event.pointerId);
    if (pressed && start.current && !held.current) press(start.current);
    start.current = held.current = null;
  };
  return {
    onPointerDown: (event: PointerEvent) => {
      if (event.button) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      const { view, size, drawing } = now.current;
      const here = at(event);
      down.current.set(event.pointerId, here);
      start.current = down.current.size === 1 ? here : null;
      const near = event.pointerType === "mouse" ? 12 : 24;
      held.current = drawing && view && size && down.current.size === 1 ? gripAt(drawing, view, size, here, near) : null;
    },
    onPointerMove: (event: PointerEvent) => {
      const { view, size, drawing } = now.current;
      const before = down.current.get(event.pointerId);
      if (!before || !view || !size) return;
      const here = at(event);
      if (start.current && apart(start.current, here) < STILL) return;
      start.current = null;
      const other = [...down.current].find(([id]) => id !== event.pointerId)?.[1];
      down.current.set(event.pointerId, here);
      if (held.current && drawing) {
        held.current = dragged(drawing, held.current, fromMap(view, size, here));
      } else if (other) {
        const middle: Point = [(here[0] + other[0]) / 2, (here[1] + other[1]) / 2];
        const closer = zoomed(view, size, apart(here, other) / Math.max(1, apart(before, other)), middle);
        move(panned(closer, (before[0] - here[0]) / 2, (before[1] - here[1]) / 2));
      } else move(panned(view, before[0] - here[0], before[1] - here[1]));
    },
    onPointerUp: (event: PointerEvent) => up(event, true),
    onPointerCancel: (event: PointerEvent) => up(event, false),
  } as JSX.HTMLAttributes<HTMLDivElement>;
}

/** A press while drawing: the circle's middle, or one corner more. */
function put(drawing: Drawing, where: Position): void {
  drawing.change(drawing.kind === "circle" ? [where] : [...drawing.points, where], drawing.radius);
}

function grips(drawing: Drawing, view: View, size: Size): Grip[] {
  const points = drawing.points.map((one) => onMap(view, size, one));
  if (drawing.kind === "circle") {
    const [middle] = points;
    if (!middle || !drawing.points[0]) return [];
    const radius = drawing.radius * perMetre(view, drawing.points[0][0]);
    return [{ what: "middle", number: 0, at: middle }, { what: "rim", number: 0, at: [middle[0] + radius, middle[1]] }];
  }
  const corners = points.map((at, number): Grip => ({ what: "corner", number, at }));
  if (points.length < 3) return corners;
  const between = points.map(([x, y], number): Grip => {
    const [x1, y1] = points[(number + 1) % points.length] ?? [x, y];
    return { what: "between", number, at: [(x + x1) / 2, (y + y1) / 2] };
  });
  return [...between, ...corners];
}

function gripAt(drawing: Drawing, view: View, size: Size, at: Point, near: number): Grip | null {
  const found = grips(drawing, view, size)
    .map((grip) => ({ grip, away: apart(grip.at, at) + (grip.what === "between" ? 4 : 0) }))
    .filter(({ away }) => away <= near)
    .sort((a, b) => a.away - b.away);
  return found[0]?.grip ?? null;
}

function dragged(drawing: Drawing, grip: Grip, where: Position): Grip {
  const points = [...drawing.points];
  let now = grip;
  if (grip.what === "rim") {
    const middle = points[0];
    if (middle) drawing.change(points, Math.max(1, Math.round(metresBetween(middle, where))));
    return grip;
  }
  if (grip.what === "between") {
    now = { ...grip, what: "corner", number: grip.number + 1 };
    points.splice(now.number, 0, where);
  } else points[grip.number] = where;
  drawing.change(points, drawing.radius);
  return now;
}

// --- shapes

const apart = (a: Point, b: Point): number => Math.hypot(a[0] - b[0], a[1] - b[1]);
const within = ([x, y]: Point, size: Size): boolean => x > -5 && y > -5 && x < size.wide + 5 && y < size.high + 5;
const moveTo = ([x, y]: Point): string => `M${x.toFixed(1)} ${y.toFixed(1)}h0`;
const line = (points: Point[]): string =>
  points.map(([x, y], k) => `${k ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
const closed = (points: Point[]): string => `${line(points)}Z`;

function classes(place: Place, picked: string | null): string {
  return ["place", place.secret && "secret", place.waits && "waits", place.name === picked && "picked"]
    .filter(Boolean).join(" ");
}

/** Whose name is written first where there is little room. */
const first = (place: Place, picked: string | null): number => (place.name === picked ? 2 : Number(place.secret ?? false));

const laidOut = new WeakMap<Place, Point[][]>();

/** The rings of a place in parts of the world, computed once. */
function onWorld(place: Place): Point[][] {
  const found = laidOut.get(place) ?? place.rings.map((ring) => ring.map(world));
  laidOut.set(place, found);
  return found;
}

const reached = new WeakMap<Place, number>();

/** Metres from a place's middle to the furthest of its corners. */
function reach(place: Place | undefined): number {
  if (!place) return 0;
  const known = reached.get(place);
  if (known !== undefined) return known;
  const found = Math.max(0, ...place.rings.flat().map((one) => metresBetween(place.middle, one)));
  reached.set(place, found);
  return found;
}

/** The place at a point of the map: the smallest that holds it, or one whose spot is near. */
function under(places: Place[], view: View, size: Size, at: Point): Place | null {
  const smallest = [...places].sort((a, b) => reach(a) - reach(b));
  const holds = (place: Place): boolean =>
    encloses(place.rings.map((ring) => ring.map((one) => onMap(view, size, one))), at);
  const near = (place: Place): boolean => apart(onMap(view, size, place.middle), at) < 14;
  return smallest.find(holds) ?? smallest.find(near) ?? null;
}

/** The corners of the first place and of those that are not far from it or from each other; of dots where none is. */
function nearby(places: Place[], dots: Position[]): Position[] {
  const found = places.slice(0, 1);
  const rest = places.slice(1);
  for (let next = 0; next < found.length; next++) {
    const from = found[next];
    for (let k = rest.length - 1; from && k >= 0; k--) {
      const one = rest[k];
      if (one && metresBetween(from.middle, one.middle) < FAR) found.push(...rest.splice(k, 1));
    }
  }
  return found.length ? found.flatMap((one) => one.rings.flat()) : dots;
}
