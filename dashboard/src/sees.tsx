import { useEffect, useState } from "preact/hooks";
import { applications, maps, type Drawn, type Gets, type Told } from "./api";
import { ringOf } from "./geo";
import { colour, label, runs } from "./labels";
import { clock, ownZone } from "./locale";
import { PlaceMap, type Place } from "./map";
import { texts } from "./texts";

type Event = Told & { start: string; end: string; latitude?: number; longitude?: number; radius?: number };

/** Of words that stand for several places, which have no colour of their own. */
const JOINED = ["#d57cc1", "#9db7a3", "#a37ef4", "#d38327", "#80b7dd", "#83874d", "#d2c300", "#b2d8d6"];

const AGAIN = 30_000; // milliseconds until it is asked for again

/** The slots that a token was sent, from the answer of its stream. */
export function eventsOf(gets: Gets): Event[] {
  const stream = gets.answers.find((one) => one.request.endsWith("/stream"))?.body ?? "";
  return stream.split("\n").filter((line) => line.startsWith("data: ")).map((line) => JSON.parse(line.slice(6)) as Event);
}

/** What an application can put on a map: the circle that it was sent, or for the owner alone all that its view joins. */
function placesOf(last: Event, joined: string[], map: Drawn | null): Place[] {
  const { latitude, longitude, radius } = last;
  const now = label(last);
  if (now === null) return [];
  if (latitude !== undefined && longitude !== undefined) {
    const middle: [number, number] = [latitude, longitude];
    return [{ name: now, middle, rings: [ringOf(middle, radius ?? 0)], colour: colour(now) }];
  }
  return (map?.places ?? []).filter((one) => joined.includes(one.name));
}

/** As this application sees one: a sentence, what it cannot tell apart, and its last slots. */
export function Sees({ token, name }: { token: string; name: string }) {
  const [gets, setGets] = useState<Gets | null>(null);
  const [map, setMap] = useState<Drawn | null>(null);
  const person = gets?.person;
  useEffect(() => {
    if (person !== undefined) maps.map(person).then(setMap, () => undefined);
  }, [person]);
  useEffect(() => {
    const look = () => applications.gets(token).then(setGets, () => undefined);
    void look();
    const timer = setInterval(look, AGAIN);
    return () => clearInterval(timer);
  }, [token]);
  return gets && <Seen gets={gets} name={name} map={map} />;
}

/** What was sent as a sentence, a map and a strip; `map` is the owner's, for what a view joins. */
export function Seen({ gets, name, map }: { gets: Gets; name: string; map: Drawn | null }) {
  const words = texts.applications;
  const events = eventsOf(gets);
  const last = events.at(-1);
  if (!last) return <p class="sees">{words.seesNotYet(name)}</p>;
  const time = clock(ownZone());
  const labels = events.map(label);
  const now = label(last);
  let first = events.length - 1;
  while (first > 0 && labels[first - 1] === now) first -= 1;
  const since = time(events[first]?.start ?? last.start);
  const joined = (now !== null && gets.groups?.[now]) || [];
  const fill = (word: string) => {
    const [one, ...more] = gets.groups?.[word] ?? [word];
    const number = Object.keys(gets.groups ?? {}).sort().indexOf(word);
    return more.length ? (JOINED[number % JOINED.length] ?? "") : colour(one ?? word);
  };
  const places = placesOf(last, joined, map);
  return (
    <div class="sees">
      <p><strong>{now === null ? words.seesNothing(name, since) : words.sees(name, now, since)}</strong></p>
      {now === null && <p class="quiet">{words.gap}</p>}
      {joined.length > 1 && <p class="quiet">{words.apart(joined)}</p>}
      {places.length > 0 && <PlaceMap label={words.where(name)} places={places} picked={null} pick={() => undefined}
        tiles={map?.tiles} />}
      <svg viewBox={`0 0 ${events.length} 10`} preserveAspectRatio="none" role="img" aria-label={words.seen(name)}>
        <rect width={events.length} height="10" fill="var(--silence)" />
        {runs(labels).map((run) => <rect key={run.from} x={run.from} width={run.length} height="10" fill={fill(run.label)}><title>{run.label}</title></rect>)}
      </svg>
      <p class="hours" aria-hidden="true"><span>{time(events[0]?.start ?? last.start)}</span><span>{time(last.end)}</span></p>
      <ul class="legend" aria-hidden="true">
        {[...new Set(labels)].map((one) => (
          <li key={one}><svg viewBox="0 0 10 10"><rect width="10" height="10" fill={one === null ? "var(--silence)" : fill(one)} />
          </svg>{one ?? texts.today.silent}</li>
        ))}
      </ul>
    </div>
  );
}
