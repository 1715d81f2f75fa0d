import "./places.css";
import type { JSX } from "preact";
import { useCallback, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, maps, Refused, routine, type Drawn, type DrawnShape, type MapChange, type Placed, type Unexplained } from "./api";
import { encloses, metresBetween, world, type Position } from "./geo";
import { keep, recall } from "./kept";
import { setColours } from "./labels";
import { PlaceMap, type Drawing } from "./map";
import { Routine, urgent, useRoutine } from "./routine";
import { texts } from "./texts";

/** What is being drawn: a new place, or another shape for one that is there. */
interface Sketch { number: number | null; name: string; kind: Drawing["kind"]; points: Position[]; radius: number }

/** The places of a person: looked at, drawn, renamed, merged, nested; and what none of them explains. */
export function Places({ person, out }: { person: string; out: () => void }) {
  const words = texts.places;
  const [map, setMap] = useState<Drawn | null>(null);
  const [left, setLeft] = useState<Unexplained | null>(null);
  const [picked, setPicked] = useState<string | null>(null);
  const [sketch, setSketch] = useState<Sketch | null>(() => recall(`sketch ${person}`));
  const [dotted, setDotted] = useState(true);
  const [said, setSaid] = useState("");
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);

  const tried = useCallback(async (call: () => Promise<Drawn>, done?: (found: Drawn) => void) => {
    setBusy(true);
    setSaid("");
    try {
      const found = await call();
      setMap(found);
      setProblem("");
      done?.(found);
      await api.colours(person).then(setColours);
      setLeft(await maps.unexplained(person));
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return out();
      setProblem(error instanceof Refused ? error.message : texts.failed);
      if (error instanceof Refused && error.status === 409) setMap(await maps.map(person).catch(() => null));
    } finally {
      setBusy(false);
    }
  }, [person]);
  const asked = useRoutine(person, () => void tried(() => maps.map(person)), out);
  useLayoutEffect(() => keep(`sketch ${person}`, sketch), [person, sketch]);

  const change = (made: MapChange, done?: () => void) => map && void tried(
    () => maps.change(person, map.version, made),
    (found) => {
      void asked.tried(() => routine.now(person)); // what was learned with another map is out of date
      setSaid(found.said?.at_once ? words.saved : words.savedWaits);
      done?.();
    },
  );
  const draw = (made: Partial<Sketch>) => {
    setSaid("");
    setProblem("");
    setSketch({ number: null, name: "", kind: "circle", points: [], radius: 100, ...made });
  };
  const save = (made: Sketch) => {
    const shape: DrawnShape = made.kind === "circle"
      ? { middle: made.points[0] ?? [0, 0], radius: made.radius } : { points: made.points };
    const asked: MapChange = made.number === null
      ? { do: "add", name: made.name.trim(), shape } : { do: "redraw", number: made.number, shape };
    change(asked, () => {
      setSketch(null);
      setPicked(made.name.trim());
    });
  };

  const shown = useMemo(
    () => (map?.places ?? []).filter((one) => one.number !== sketch?.number), [map, sketch?.number],
  );
  if (!map) return problem
    ? <p role="alert">{problem} <button type="button" onClick={() => tried(() => maps.map(person))}>{texts.again}</button></p>
    : <p role="status">{texts.loading}</p>;
  const card = <Routine {...{ person, map, asked }} discard={() => void tried(() => maps.discard(person))} />;
  const drawing: Drawing | null = sketch && {
    ...sketch, change: (points, radius) => setSketch((now) => now && { ...now, points, radius }),
  };
  return (
    <>
      <div class="bar">
        <h1>{words.heading}</h1>
        {map.file && !sketch && (
          <div class="acts">
            <button type="button" onClick={() => draw({ kind: "circle" })}>{words.drawCircle}</button>
            <button type="button" onClick={() => draw({ kind: "polygon" })}>{words.drawPolygon}</button>
          </div>
        )}
      </div>
      <p class="quiet">{map.file ? words.words : words.noFile}</p>
      {said && <p role="status" class="said">{said}</p>}
      {urgent(map, asked.now) && !sketch && card}
      <div class="mapped">
        <PlaceMap places={shown} picked={picked} pick={setPicked} drawing={drawing}
          dots={dotted ? left?.dots : undefined} stays={dotted ? left?.suggestions : undefined} tiles={map.tiles} />
        <div class="beside">
          {problem && <p class="problem" role="alert">{problem}</p>}
          {sketch
            ? <Draw sketch={sketch} set={(made) => setSketch((now) => now && { ...now, ...made(now) })} places={shown} busy={busy} save={save}
              cancel={() => setSketch(null)} />
            : <List {...{ map, left, picked, setPicked, change, draw, busy }} />}
        </div>
      </div>
      {left && !sketch && <Left {...{ left, dotted, setDotted, draw }} can={map.file !== null} />}
      {!urgent(map, asked.now) && !sketch && card}
    </>
  );
}

interface Acts {
  map: Drawn; left: Unexplained | null; busy: boolean;
  change: (made: MapChange, done?: () => void) => void; draw: (made: Partial<Sketch>) => void;
}

/** The names, places in others below them, and what can be done with the one that is picked. */
function List({ map, left, picked, setPicked, change, draw, busy }: Acts
  & { picked: string | null; setPicked: (name: string | null) => void }) {
  const words = texts.places;
  const ordered = useMemo(() => nested(map.places), [map]);
  return (
    <section aria-label={words.list}>
      {map.no_tree && <p class="quiet">{map.no_tree}</p>}
      <ul class="names">
        {ordered.map(({ place, deep }) => {
          const open = place.name === picked;
          const hours = left?.hours[place.name];
          const facts = [
            place.within && words.lies(place.within), place.secret && words.secret, place.waits && words.waits,
            left && hours !== undefined && left.share !== null && words.hours(hours, left.days),
          ].filter(Boolean);
          return (
            <li key={place.name} class={`deep${Math.min(deep, 4)}`}>
              <button type="button" class={open ? "name open" : "name"} aria-expanded={open}
                onClick={() => setPicked(open ? null : place.name)}>
                <svg viewBox="0 0 12 12" aria-hidden="true" style={{ "--c": place.colour } as JSX.CSSProperties}>
                  <circle class={place.secret ? "swatch secret" : "swatch"} cx="6" cy="6" r="4.5" />
                </svg>
                <span><strong>{place.name}</strong> <small>{facts.join(", ")}</small></span>
              </button>
              {open && <One key={place.name} name={place.name} {...{ map, left, change, draw, busy }}
                renamed={setPicked} />}
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function One({ name, map, change, draw, busy, renamed }: Acts & { name: string; renamed: (name: string) => void }) {
  const words = texts.places;
  const [asked, setAsked] = useState<number | null>(null);
  const parts = map.places.filter((one) => one.name === name);
  const others = [...new Set(map.places.map((one) => one.name))].filter((one) => one !== name).sort();
  const secret = parts.some((one) => one.secret);
  const rename = (to: string) => change({ do: "rename", name, to }, () => renamed(to));
  const sent = (key: string) => (event: SubmitEvent) => {
    event.preventDefault();
    const to = String(new FormData(event.target as HTMLFormElement).get(key)).trim();
    if (to) rename(to);
  };
  return (
    <div class="one">
      {secret && <p class="quiet">{words.secretWords}</p>}
      {parts.map((part, k) => (
        <div key={part.number} class="part">
          <p>{parts.length > 1 && <>{words.part(k + 1, parts.length)}: </>}{words.facts(part.radius, part.area)}</p>
          {map.file && (
            <div class="acts">
              <button type="button" class="quiet" aria-label={words.redrawPart(name, k + 1)} onClick={() => draw(sketchOf(part))}>
                {words.redraw}
              </button>
              {!secret && asked !== part.number && (
                <button type="button" class="quiet" aria-label={words.removePart(name, k + 1)} onClick={() => setAsked(part.number)}>
                  {words.remove}
                </button>
              )}
            </div>
          )}
          {asked === part.number && (
            <p role="alert">{words.sure(name)}{" "}
              <button type="button" class="danger" disabled={busy}
                onClick={() => change({ do: "remove", number: part.number }, () => setAsked(null))}>{words.yes}</button>
              {" "}<button type="button" class="quiet" onClick={() => setAsked(null)}>{words.no}</button>
            </p>
          )}
        </div>
      ))}
      {map.file && !secret && (
        <>
          <form onSubmit={sent("to")}>
            <label>{words.newName}<input name="to" defaultValue={name} required maxLength={100} autocomplete="off" /></label>
            <button class="quiet" disabled={busy}>{words.rename}</button>
          </form>
          {others.length > 0 && (
            <form onSubmit={sent("into")}>
              <label>{words.merge}<select name="into">{others.map((one) => <option key={one}>{one}</option>)}</select></label>
              <button class="quiet" disabled={busy}>{words.mergeDo}</button>
            </form>
          )}
        </>
      )}
      {map.file && parts[0] && (
        <p><button type="button" class="quiet" onClick={() => draw(wider(parts))}>{words.around}</button>{" "}
          <small>{words.aroundWords}</small></p>
      )}
    </div>
  );
}

/** A shape that is being drawn, by its numbers; the map has the same one. */
function Draw({ sketch, set, places, busy, save, cancel }: {
  sketch: Sketch; set: (made: (now: Sketch) => Partial<Sketch>) => void; places: Placed[]; busy: boolean;
  save: (made: Sketch) => void; cancel: () => void;
}) {
  const words = texts.places;
  const names = [...new Set(places.map((one) => one.name))];
  const inside = held(sketch, places);
  const [middle] = sketch.points;
  const ready = sketch.kind === "circle" ? middle !== undefined : sketch.points.length > 2;
  const halves = useRef<[number?, number?]>([]); // what was typed of a middle that is not there yet
  const typed = (at: 0 | 1) => (event: JSX.TargetedEvent<HTMLInputElement>) => {
    const value = event.currentTarget.valueAsNumber;
    if (Number.isNaN(value)) return;
    halves.current[at] = value;
    set(({ points: [was] }) => {
      const other = was?.[1 - at] ?? halves.current[1 - at];
      if (other === undefined) return {}; // a place needs both
      return { points: [at === 0 ? [value, other] : [other, value]] };
    });
  };
  return (
    <form class="card draw" onSubmit={(event) => {
      event.preventDefault();
      save(sketch);
    }}>
      <h2>{sketch.number === null ? words.newPlace : words.redrawn(sketch.name)}</h2>
      <p class="quiet">{words.drawWords[sketch.kind]}</p>
      {sketch.number === null && (
        <label>{words.name}
          <input name="name" required maxLength={100} autocomplete="off" list="names" value={sketch.name}
            aria-describedby="name-words" onInput={(event) => {
              const name = event.currentTarget.value;
              set(() => ({ name }));
            }} />
          <datalist id="names">{names.map((one) => <option key={one} value={one} />)}</datalist>
          <small id="name-words">{words.nameWords}</small>
        </label>
      )}
      {sketch.kind === "circle" ? (
        <div class="numbers">
          <label>{words.latitude}<input name="latitude" type="number" step="any" min={-90} max={90} required
            {...(middle && { value: rounded(middle[0]) })} onChange={typed(0)} /></label>
          <label>{words.longitude}<input name="longitude" type="number" step="any" min={-180} max={180} required
            {...(middle && { value: rounded(middle[1]) })} onChange={typed(1)} /></label>
          <label>{words.radius}<input name="radius" type="number" step="any" min={1} max={100_000} required
            value={sketch.radius} onInput={(event) => {
              const radius = event.currentTarget.valueAsNumber;
              if (radius > 0) set(() => ({ radius }));
            }} /></label>
        </div>
      ) : (
        <label>{words.corners}
          <textarea name="corners" rows={6} spellcheck={false}
            value={sketch.points.map((one) => one.map(rounded).join(", ")).join("\n")}
            onChange={(event) => {
              const points = cornersOf(event.currentTarget.value);
              set(() => ({ points }));
            }} />
        </label>
      )}
      {inside.length > 0 && <p>{words.holds(inside)}</p>}
      <p class="quiet">{words.effect}</p>
      <p><button disabled={busy || !ready}>{words.save}</button>{" "}
        <button type="button" class="quiet" onClick={cancel}>{words.cancel}</button></p>
    </form>
  );
}

function Left({ left, dotted, setDotted, draw, can }: {
  left: Unexplained; dotted: boolean; setDotted: (on: boolean) => void; draw: (made: Partial<Sketch>) => void;
  can: boolean;
}) {
  const words = texts.places;
  return (
    <section aria-labelledby="left">
      <h2 id="left">{words.unexplained}</h2>
      <p>{left.share === null ? words.noReadings(left.days)
        : left.count === 0 ? words.nothingLeft : words.share(left.share, left.days)}</p>
      {left.count > 0 && (
        <label class="dotted"><input type="checkbox" checked={dotted}
          onChange={(event) => setDotted(event.currentTarget.checked)} /> {words.show}</label>
      )}
      <ul class="cards stays">
        {left.suggestions.map((one, k) => (
          <li key={k} class="card">
            <h3>{words.stays(k + 1)}</h3>
            <p>{words.stay(one.hours, one.days)}</p>
            {can && <button type="button" class="quiet" aria-label={words.drawStay(k + 1)}
              onClick={() => draw({ points: [one.middle], radius: one.radius })}>{words.drawIt}</button>}
          </li>
        ))}
      </ul>
    </section>
  );
}

// --- shapes

const rounded = (degrees: number): number => Math.round(degrees * 1e6) / 1e6;

function cornersOf(text: string): Position[] {
  return text.split("\n").flatMap((line): Position[] => {
    const [latitude, longitude] = line.split(/[,;\s]+/).filter(Boolean).map(Number);
    const known = latitude !== undefined && longitude !== undefined;
    return known && Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180 ? [[latitude, longitude]] : [];
  });
}

function sketchOf(place: Placed): Partial<Sketch> {
  const { number, name, radius, middle, rings } = place;
  return radius === null ? { number, name, kind: "polygon", points: rings[0] ?? [] }
    : { number, name, kind: "circle", points: [middle], radius };
}

/** A circle around all parts of a place, and as much again. */
function wider(parts: Placed[]): Partial<Sketch> {
  const middle = parts[0]?.middle ?? [0, 0];
  const reach = Math.max(...parts.flatMap((one) => one.rings.flat()).map((one) => metresBetween(middle, one)));
  return { kind: "circle", points: [middle], radius: Math.round(2 * reach) };
}

/** The names of places that lie in what is drawn. */
function held(sketch: Sketch, places: Placed[]): string[] {
  const [middle] = sketch.points;
  const ring = sketch.points.map(world);
  const within = (one: Position): boolean => sketch.kind === "circle"
    ? middle !== undefined && metresBetween(middle, one) <= sketch.radius : encloses([ring], world(one));
  return [...new Set(places.filter((one) => one.rings.flat().every(within)).map((one) => one.name))];
}

/** Each name once, in order, those that lie in another below it. */
function nested(places: Placed[]): { place: Placed; deep: number }[] {
  const once = places.filter((one, k) => places.findIndex((other) => other.name === one.name) === k);
  const below = (outer: string | null, deep: number): { place: Placed; deep: number }[] => deep > 20 ? [] : once
    .filter((one) => one.within === outer)
    .flatMap((place) => [{ place, deep }, ...below(place.name, deep + 1)]);
  return below(null, 0);
}
