import "./first.css";
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import {
  api, bring, first, Refused, type Cost, type Days, type Finished, type FoundPlace, type Held, type Proposed,
  type Setup, type Tracker,
} from "./api";
import { metresBetween } from "./geo";
import { Help } from "./help";
import { forget, useKept } from "./kept";
import { colour, label, onWallClock, runs, setColours } from "./labels";
import { asHere, bytes, clock, count, dayName, dayPlain, since, timeOf } from "./locale";
import { PlaceMap } from "./map";
import { Strip } from "./strip";
import { texts } from "./texts";
import { useNow } from "./now";
import { TokenCard } from "./token";

const POLL = 600; // milliseconds between two looks at work that is under way

const KEPT = "setup "; // how all begins that is typed here and not sent yet

const sentence = (text: string) => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;

interface Step { setup: Setup; tried: (call: () => Promise<unknown>) => Promise<void> }

/** From nothing to a person who is served, in five steps; the password was the first. */
export function First({ out, done }: { out: () => void; done: (person: string) => void }) {
  const words = texts.first;
  const [setup, setSetup] = useState<Setup | null>(null);
  const [at, setAt] = useState(2);
  const [problem, setProblem] = useState("");
  const [finished, setFinished] = useState<Finished | null>(null);
  const heading = useRef<HTMLHeadingElement>(null);
  const step = useRef(0);
  const ended = (made: Finished) => {
    forget(KEPT);
    setFinished(made);
  };

  const look = useCallback(async () => {
    const found = await first.stands();
    setSetup(found);
    if (found.step !== step.current) { // a step was done, or the page is opened: go where the way goes on
      step.current = found.step;
      setAt(found.step);
    }
  }, []);
  const tried = useCallback(async (call: () => Promise<unknown>) => {
    try {
      setProblem("");
      await call();
      await look();
    } catch (error) {
      if (error instanceof Refused && error.status === 401) return out();
      if (error instanceof Refused && error.status === 404) return setProblem(words.absent);
      setProblem(error instanceof Refused ? error.message : texts.failed);
    }
  }, []);
  useEffect(() => void tried(async () => undefined), []);
  useEffect(() => {
    if (!setup?.job) return;
    const timer = setTimeout(() => void tried(async () => undefined), POLL);
    return () => clearTimeout(timer);
  }, [setup]);
  useEffect(() => heading.current?.focus(), [at, finished]);

  if (finished) return <Done finished={finished} done={done} heading={heading} />;
  if (!setup) return problem ? <p class="problem" role="alert">{problem}</p> : <p role="status">{texts.loading}</p>;
  const busy = setup.job !== null;
  const shared = { setup, tried };
  const said = problem || setup.problem;
  return (
    <div class="first">
      <p class="quiet">{words.heading}</p>
      <ol class="steps">
        {words.steps.map((name, k) => (
          <li key={name} class={k + 1 < setup.step ? "done" : ""} aria-current={k + 1 === at ? "step" : undefined}>
            {k > 0 && k + 1 <= setup.step && k + 1 !== at && !busy
              ? <button type="button" onClick={() => setAt(k + 1)}><b>{k + 1}</b> <span>{name}</span></button>
              : <span class="step"><b>{k + 1}</b> <span>{name}</span></span>}
          </li>
        ))}
      </ol>
      <section aria-labelledby="step">
        <h1 id="step" ref={heading} tabIndex={-1}>
          {[words.bring, words.places, words.secrets, words.finish][at - 2]?.heading}
        </h1>
        {said && <p class="problem" role="alert">{said}</p>}
        {at === 2 && <Bring {...shared} />}
        {at === 3 && <Places {...shared} />}
        {at === 4 && <Secrets {...shared} />}
        {at === 5 && <Last {...shared} finished={ended} />}
      </section>
      {!busy && (setup.files.length > 0 || setup.step > 2) && <Over forget={() => {
        forget(KEPT);
        void tried(first.forget);
      }} />}
    </div>
  );
}

/** What is under way, how far it is, and a way to end it. */
function Working({ setup, tried, name }: Step & { name: string }) {
  const words = texts.first;
  const job = setup.job;
  if (job?.name !== name) return null;
  const what = words.work[job.what] ?? words.work.starting;
  return (
    <div class="working" role="status">
      <label>{what} <progress {...(job.total ? { value: job.done, max: job.total } : {})} /></label>
      <button type="button" class="quiet" onClick={() => void tried(first.cancel)}>{words.cancel}</button>
    </div>
  );
}

function Go({ children, disabled, onClick }: {
  children: ComponentChildren; disabled?: boolean; onClick?: () => void;
}) {
  return <p class="go"><button type={onClick ? "button" : "submit"} disabled={disabled} onClick={onClick}>{children}</button></p>;
}

function Over({ forget }: { forget: () => void }) {
  const words = texts.first;
  const [asked, setAsked] = useState(false);
  return asked ? (
    <p role="alert" class="over">{words.overSure}{" "}
      <button type="button" class="danger" onClick={() => { setAsked(false); forget(); }}>{words.yes}</button>{" "}
      <button type="button" class="quiet" onClick={() => setAsked(false)}>{words.no}</button>
    </p>
  ) : <p class="over"><button type="button" class="quiet" onClick={() => setAsked(true)}>{words.over}</button></p>;
}

// --- 2. bring a file

interface Coming { name: string; share: number; stop: () => void }

function Bring({ setup, tried }: Step) {
  const words = texts.first.bring;
  const here = Intl.DateTimeFormat().resolvedOptions().timeZone;
  const fresh = setup.history === null && !setup.zone_is_fixed;
  const [person, setPerson] = useKept(`${KEPT}person`, () => (setup.taken.includes(setup.person) ? "" : setup.person));
  const [zone, setZone] = useKept(`${KEPT}zone`, () => (fresh ? here : setup.zone));
  const [changes, setChanges] = useKept(`${KEPT}changes`, () => setup.carry > 4);
  const [whose, setWhose] = useState("");
  const [coming, setComing] = useState<Coming[]>([]);
  const [over, setOver] = useState(false);
  const people = setup.history?.people;
  const busy = setup.job !== null;

  const send = (file: File) => new Promise<void>((resolve, reject) => {
    const change = (share: number | null) => setComing((all) =>
      share === null ? all.filter((one) => one.name !== file.name)
        : all.map((one) => (one.name === file.name ? { ...one, share } : one)));
    const stop = bring(file, change, (said) => {
      change(null);
      if (said === null) resolve();
      else reject(new Refused(400, said || words.broken));
    });
    setComing((all) => [...all, { name: file.name, share: 0, stop }]);
  });
  const take = (files: FileList | null | undefined) => void tried(async () => {
    let left = setup.limit - setup.files.reduce((sum, one) => sum + one.size, 0);
    for (const file of files ?? []) {
      left -= file.size;
      if (left < 0) throw new Refused(413, words.tooLarge(file.name, bytes(setup.limit)));
      await send(file);
    }
  });
  const go = (event: Event) => {
    event.preventDefault();
    const user = people ? whose || people[0] : undefined;
    void tried(() => first.read(person.trim(), zone, changes ? 24 : 4, user));
  };
  const zones = Intl.supportedValuesOf?.("timeZone") ?? [];
  return (
    <form class="wide" onSubmit={go}>
      <p>{words.words}</p>
      {setup.home_assistant && <FromHome setup={setup} tried={tried} chosen={() => setChanges(true)} />}
      <label class={over ? "drop over" : "drop"}
        onDragOver={(event) => { event.preventDefault(); setOver(true); }}
        onDragLeave={() => setOver(false)}
        onDrop={(event) => { event.preventDefault(); setOver(false); take(event.dataTransfer?.files); }}>
        <strong>{words.drop}</strong>
        <span class="button">{words.choose}</span>
        <input type="file" multiple disabled={busy || coming.length > 0}
          onChange={(event) => { take(event.currentTarget.files); event.currentTarget.value = ""; }} />
        <small>{words.limit(bytes(setup.limit))}</small>
      </label>
      <ul class="files">
        {setup.files.map((file) => (
          <li key={file.id}><span>{file.name}</span><small>{words.as(bytes(file.size), file.format)}</small>
            <button type="button" class="quiet" disabled={busy} aria-label={words.remove(file.name)}
              onClick={() => void tried(() => first.remove(file.id))}>{words.take}</button></li>
        ))}
        {coming.map((one) => (
          <li key={one.name}><span>{one.name}</span>
            <progress aria-label={one.name} value={one.share} />
            <button type="button" class="quiet" aria-label={words.stop(one.name)} onClick={one.stop}>
              {texts.first.cancel}</button></li>
        ))}
      </ul>
      <details><summary>{words.formats}</summary><ul>{words.known.map((one) => <li key={one}>{one}</li>)}</ul></details>
      <div class="pair">
        <label>{words.name}
          <input name="person" required maxLength={60} value={person} autocomplete="nickname"
            onInput={(event) => setPerson(event.currentTarget.value)} />
        </label>
        <label>{words.zone}
          <input name="zone" required list="zones" value={zone} disabled={setup.zone_is_fixed}
            onInput={(event) => setZone(event.currentTarget.value)} />
          <datalist id="zones">{zones.map((one) => <option key={one} value={one} />)}</datalist>
        </label>
      </div>
      <label class="check"><input type="checkbox" checked={changes}
        onChange={(event) => setChanges(event.currentTarget.checked)} /> {words.changes}</label>
      {people && (
        <label>{words.whose}
          <select value={whose} onChange={(event) => setWhose(event.currentTarget.value)}>
            {people.map((name) => <option key={name}>{name}</option>)}
          </select>
        </label>
      )}
      <Working setup={setup} tried={tried} name="read" />
      {!busy && <Go disabled={setup.files.length === 0 || coming.length > 0}>{words.go}</Go>}
    </form>
  );
}

/** Where discreet is an app of Home Assistant: who somebody is there, by name, and what the recorder has. */
function FromHome({ setup, tried, chosen }: Step & { chosen: () => void }) {
  const words = texts.first.bring;
  const [trackers, setTrackers] = useState<Tracker[]>([]);
  const [entity, setEntity] = useState(setup.entity ?? "");
  const [reading, setReading] = useState(false);
  const [empty, setEmpty] = useState(false);
  useEffect(() => void tried(async () => setTrackers((await first.trackers()).trackers)), []);
  const read = () => void tried(async () => {
    setReading(true);
    try {
      setEmpty((await first.track(entity)).file === null);
      chosen();
    } finally {
      setReading(false);
    }
  });
  const followed = trackers.find((one) => one.entity === setup.entity);
  return (
    <div class="pair">
      <label>{words.tracker}
        <select name="tracker" value={entity} disabled={reading} onChange={(event) => setEntity(event.currentTarget.value)}>
          <option value="">{words.trackerNone}</option>
          {trackers.map((one) => <option key={one.entity} value={one.entity}>{`${one.name} (${one.entity})`}</option>)}
        </select>
      </label>
      <p>
        <button type="button" disabled={!entity || reading || setup.job !== null} onClick={read}>{words.trackerRead}</button>
        {" "}<span role="status">
          {reading ? words.trackerReading : empty ? words.trackerEmpty
            : followed ? `${words.trackerFollowed(followed.name)} ${words.more}` : ""}
        </span>
      </p>
    </div>
  );
}

// --- 3. look at the places

function Places({ setup, tried }: Step) {
  const words = texts.first.places;
  const history = setup.history;
  const found = history?.places ?? [];
  const known = (): Record<string, string | null> =>
    Object.fromEntries(found.map((one) => [one.number, one.number in setup.names ? setup.names[one.number]! : one.name]));
  const [names, setNames, discard] = useKept(`${KEPT}names ${history?.readings} ${history?.last}`, known);
  const [picked, setPicked] = useState<string | null>(null);
  if (!history) return null;
  const busy = setup.job !== null;
  const odd = history.zone_warning && history.zone !== setup.zone;
  const other = JSON.stringify(names) !== JSON.stringify(known());
  const given = Object.values(names).map((name) => name?.trim());
  const change = (place: FoundPlace, name: string | null) => setNames((all) => ({ ...all, [place.number]: name }));
  const kept = found.filter((one) => names[one.number] !== null);
  const called = (one: FoundPlace) => names[one.number]?.trim() || one.name;
  const hue = (one: FoundPlace) => kept.find((other) => called(other) === called(one))?.colour ?? one.colour;
  const go = (event: Event) => {
    event.preventDefault();
    void tried(() => first.places(Object.fromEntries(
      found.map((one) => [one.number, names[one.number] === null ? null : called(one)]))));
  };
  const leftOut = [
    ...history.first_bad, ...history.not_read.map(([file, why]) => `${file}: ${why}`), ...history.unknown,
    ...history.files.flatMap((one) => Object.entries(one.left_out).map(([why, count]) => `${one.file}: ${count} ${why}`)),
  ];
  return (
    <form class="wide" onSubmit={go}>
      {odd && history.zone && (
        <p class="notice" role="alert">{words.zone(history.zone, setup.zone)}{" "}
          {!setup.zone_is_fixed && <button type="button" class="quiet" disabled={busy} onClick={() => void tried(() =>
            first.read(setup.person, history.zone ?? setup.zone, setup.carry))}>{words.zoneUse(history.zone)}</button>}
        </p>
      )}
      {history.changes_only && setup.carry <= 4 && <p class="notice" role="alert">{words.changesOnly}</p>}
      <p>{history.places ? words.words : words.labels}</p>
      {history.labels && <ul class="chips">{history.labels.map((name) => <li key={name}>{name}</li>)}</ul>}
      {history.places && (
        <div class="sides">
          <PlaceMap label={words.map} picked={picked} pick={setPicked} tiles={setup.tiles}
            places={kept.map((one) => ({ name: called(one), middle: one.middle, rings: one.rings, colour: hue(one) }))} />
          <ul class="found">
            {found.map((one) => {
              const name = names[one.number] ?? null;
              const same = name !== null && given.filter((other) => other === name.trim()).length > 1;
              return (
                <li key={one.number} class={name === null ? "dropped" : picked === called(one) ? "picked" : ""}>
                  <svg viewBox="0 0 12 12" aria-hidden="true"><circle cx="6" cy="6" r="5" fill={hue(one)} /></svg>
                  {name === null ? <s>{one.name}</s> : (
                    <input aria-label={words.name(one.number)} value={name} required maxLength={100}
                      onFocus={() => setPicked(called(one))}
                      onInput={(event) => { change(one, event.currentTarget.value); }} />
                  )}
                  <button type="button" class="quiet" disabled={busy || (name !== null && kept.length === 1)}
                    aria-label={name === null ? words.keepNamed(one.name) : words.dropNamed(called(one))}
                    onClick={() => change(one, name === null ? one.name : null)}>
                    {name === null ? words.keep : words.drop}</button>
                  <small>{[words.when(one.part, timeOf(one.from), timeOf(one.to)), words.time(one.hours, one.days),
                    ...nearest(one, kept, called)].join(", ")}{same && <em> · {words.same}</em>}</small>
                </li>
              );
            })}
          </ul>
        </div>
      )}
      <p class="quiet">{words.found(count(history.readings), dayPlain(history.first), dayPlain(history.last))}{" "}
        {history.unexplained !== undefined && words.unexplained(history.unexplained)}</p>
      {leftOut.length > 0 && (
        <details><summary>{words.leftOut}</summary><ul>{leftOut.map((one) => <li key={one}>{one}</li>)}</ul></details>
      )}
      <Working setup={setup} tried={tried} name="learn" />
      {!busy && other && <p><button type="button" class="quiet" onClick={discard}>{words.discard}</button></p>}
      {!busy && <Go>{words.go}</Go>}
    </form>
  );
}

/** How far the nearest other place is, to know it by. */
function nearest(one: FoundPlace, kept: FoundPlace[], called: (one: FoundPlace) => string): string[] {
  const away = kept.filter((other) => other.number !== one.number)
    .map((other): [number, string] => [metresBetween(one.middle, other.middle), called(other)])
    .sort((a, b) => a[0] - b[0]);
  return away.slice(0, 1).map(([metres, name]) => texts.first.places.near(metres, name));
}

// --- 4. choose secrets

function Secrets({ setup, tried }: Step) {
  const habits = setup.habits;
  const [again, setAgain] = useState(false);
  if (!habits) return null;
  const comparing = setup.job?.name === "compare";
  if ((comparing || setup.costs) && !again)
    return <Choices setup={setup} tried={tried} again={() => {
      setAgain(true);
      if (comparing) void tried(first.cancel);
    }} />;
  return <Suggested setup={setup} tried={tried} begun={() => setAgain(false)} />;
}

function Suggested({ setup, tried, begun }: Step & { begun: () => void }) {
  const words = texts.first.secrets;
  const habits = setup.habits!;
  const [list, setList] = useKept(`${KEPT}secrets ${habits.days}`, () =>
    setup.secrets.length ? setup.secrets : habits.suggestions.filter((one) => one.proposed).map((one) => one.name));
  const [doubles, setDoubles] = useKept(`${KEPT}doubles`, () => setup.doubles);
  const taken = new Set(list);
  const turn = (name: string) => setList((all) =>
    all.includes(name) ? all.filter((one) => one !== name) : [...all, name]);
  const idle = [...habits.suggestions, ...habits.others].filter((one) => taken.has(one.name) && one.sure !== null);
  const go = (event: Event) => {
    event.preventDefault();
    void tried(async () => {
      await first.secrets([...taken], doubles);
      begun();
    });
  };
  const card = (one: Proposed, own: boolean) => (
    <li key={one.name}>
      <label class={taken.has(one.name) ? "choice on" : "choice"}>
        <input type="checkbox" name="secret" value={one.name} checked={taken.has(one.name)}
          onChange={() => turn(one.name)} />
        <span><strong>{one.name}</strong>{!own && <span>{asHere(one.why)}</span>}
          <small>{one.sure === null ? words.rises(one.prior, one.limit) : words.sure("", one.sure)}</small></span>
      </label>
    </li>
  );
  return (
    <form class="wide" onSubmit={go}>
      <div class="headed"><p>{words.words}</p><Help word="stranger" /></div>
      {habits.few && <p class="notice">{words.few(habits.days)}</p>}
      {habits.unknown >= 0.2 && <p class="notice">{words.unknown(habits.unknown)}</p>}
      {habits.suggestions.length === 0 && <p>{words.none}</p>}
      <ul class="choices">{habits.suggestions.map((one) => card(one, false))}</ul>
      {habits.others.length > 0 && (
        <details open={habits.suggestions.length === 0}><summary>{words.others}</summary>
          <ul class="choices small">{habits.others.map((one) => card(one, true))}</ul></details>
      )}
      <label class="check"><input type="checkbox" name="doubles" checked={doubles}
        onChange={(event) => setDoubles(event.currentTarget.checked)} /> {words.doubles}</label>
      {idle.map((one) => <p key={one.name} class="notice" role="alert">{words.sure(one.name, one.sure ?? "")}</p>)}
      <Go disabled={taken.size === 0 || setup.job !== null}>{words.go}</Go>
    </form>
  );
}

function Choices({ setup, tried, again }: Step & { again: () => void }) {
  const words = texts.first.secrets;
  const costs = setup.costs;
  const all = costs?.choices ?? [];
  const vocabularies = [...new Set(all.map((one) => one.vocabulary))];
  const [vocabulary, setVocabulary] = useKept(`${KEPT}vocabulary`, () => setup.vocabulary ?? "suppress");
  const [delta, setDelta] = useKept(`${KEPT}delta`, () => setup.delta ?? 0.1);
  setColours(setup.habits?.colours ?? {});
  const [accepted, setAccepted] = useState(false);
  const [at, look] = useState<number | null>(null);
  const chosen = all.find((one) => one.vocabulary === vocabulary && one.delta === delta);
  const untrue = costs?.truth.holds === false;
  const held = setup.held?.delta === delta && setup.held.vocabulary === vocabulary ? setup.held : null;
  const [back, setBack] = useState(true);
  return (
    <form class="wide" onSubmit={(event) => {
      event.preventDefault();
      void tried(() => first.choose(delta, vocabulary, accepted, back && held !== null && held.share > 0));
    }}>
      <p><strong>{words.chosen(setup.secrets.join(", "))}</strong>{" "}
        <button type="button" class="quiet" onClick={again}>{words.again}</button></p>
      <Working setup={setup} tried={tried} name="compare" />
      {costs && vocabularies.length > 0 && (
        <fieldset><legend>{words.instead}</legend>
          <div class="two">
            {vocabularies.map((name) => (
              <Vocabulary key={name} name={name} on={name === vocabulary} pick={() => setVocabulary(name)}
                day={costs.day} cost={all.find((one) => one.vocabulary === name && one.delta === delta)} />
            ))}
          </div>
        </fieldset>
      )}
      {all.length > 0 && (
        <fieldset><legend>{words.cost}</legend>
          <div class="headed"><p class="quiet">{words.costWords}</p><Help word="limit" /></div>
          {Object.keys(words.strict).map(Number).sort().map((one) => (
            <Strictness key={one} delta={one} on={one === delta} pick={() => setDelta(one)}
              cost={all.find((cost) => cost.vocabulary === vocabulary && cost.delta === one)} />
          ))}
        </fieldset>
      )}
      {costs && chosen && (
        <>
          <h2>{words.day(dayName(costs.day.date))}</h2>
          <Strip day={onWallClock(setup.person, costs.day.date, setup.cut, costs.day.true, chosen.told)} secret={new Set(costs.day.secret)} at={at} look={look} />
          <h2>{words.truth}</h2>
          {!untrue && <p>{costs.truth.holds ? words.true : words.unsure}</p>}
          {untrue && (
            <div class="notice"><p>{words.untrue}</p>
              <label class="check"><input type="checkbox" checked={accepted}
                onChange={(event) => setAccepted(event.currentTarget.checked)} /> {words.accept}</label></div>
          )}
          <details><summary>{words.figures}</summary>
            <p class="quiet">{sentence(asHere(costs.truth.words))} {untrue && sentence(costs.truth.remedy)}</p></details>
          <h2>{words.later}</h2>
          <Later setup={setup} tried={tried} held={held} on={back} turn={setBack}
            go={() => void tried(() => first.hold(delta, vocabulary))} />
        </>
      )}
      {costs && <Go disabled={!chosen || (untrue && !accepted)}>{words.keep}</Go>}
    </form>
  );
}

/** Part of the limit kept back for days unlike the routine: asked for, tried, and then a choice with its price. */
function Later({ setup, tried, held, on, turn, go }: Step & {
  held: Held | null; on: boolean; turn: (on: boolean) => void; go: () => void;
}) {
  const words = texts.first.secrets;
  if (setup.job?.name === "hold") return <Working setup={setup} tried={tried} name="hold" />;
  if (held && !held.share) return <p class="notice" role="status">{words.laterNone}</p>;
  if (held) return (
    <div role="status">
      <label class="check"><input type="checkbox" name="held" checked={on}
        onChange={(event) => turn(event.currentTarget.checked)} /> {words.laterKeep}</label>
      <p>{words.laterCost(held.shown, held.instead)} {words.laterBeyond(held.beyond, held.without)}</p>
      <p class="quiet">{held.guaranteed ? words.laterSure(held.weeks) : words.laterGuess(held.weeks, held.enough)}</p>
    </div>
  );
  return (
    <>
      <p class="quiet">{words.laterWords}</p>
      <p><button type="button" class="quiet" name="hold" disabled={setup.job !== null} onClick={go}>{words.laterTry}</button></p>
    </>
  );
}

/** One way of deciding, with a picture of the day, how much apps get, and its price in words. */
function Vocabulary({ name, on, pick, cost, day }: {
  name: string; on: boolean; pick: () => void; cost: Cost | undefined; day: { true: string[]; secret: string[] };
}) {
  const words = texts.first.secrets;
  const title = words.vocabularies[name] ?? name;
  return (
    <label class={on ? "choice on" : "choice"}>
      <input type="radio" name="vocabulary" value={name} checked={on} onChange={pick} />
      <span><strong>{title}</strong>
        {cost ? (
          <>
            <Picture name={words.picture(title)} truth={day.true} told={cost.told.map(label)} secret={day.secret} />
            <b class="much">{words.share(cost.utility)}</b>
            <span>{words.prices[name]?.(name === "generalize" ? cost.coarse : cost.false)}</span>
          </>
        ) : <small>{words.waiting}</small>}
      </span>
    </label>
  );
}

/** A day in two thin rows: where one was, and what apps got. */
function Picture({ name, truth, told, secret }: {
  name: string; truth: string[]; told: (string | null)[]; secret: string[];
}) {
  const row = (labels: (string | null)[], y: number) => [
    <rect key={`ground ${y}`} x={0} y={y} width={labels.length} height={10} fill="var(--silence)" />,
    ...runs(labels).map((run) => (
      <rect key={`${y}.${run.from}`} class={secret.includes(run.label) ? "cell secret" : "cell"} x={run.from} y={y}
        width={run.length} height={10} fill={colour(run.label)} />
    )),
  ];
  return (
    <span class="picture"><small aria-hidden="true"><span>{texts.today.true}</span><span>{texts.today.told}</span></small>
      <svg viewBox={`0 0 ${truth.length} 22`} preserveAspectRatio="none" role="img" aria-label={name}>
        {row(truth, 0)}{row(told, 12)}
      </svg></span>
  );
}

function Strictness({ delta, on, pick, cost }: { delta: number; on: boolean; pick: () => void; cost: Cost | undefined }) {
  const words = texts.first.secrets;
  return (
    <label class={on ? "choice on" : "choice"}>
      <input type="radio" name="delta" value={delta} checked={on} onChange={pick} disabled={!cost} />
      <span><strong>{words.strict[String(delta)]} <small>{words.points(delta)}</small></strong>
        {cost ? (
          <>
            <span class="meter" aria-hidden="true">
              <svg viewBox="0 0 100 4" preserveAspectRatio="none"><rect class="ground" width="100" height="4" />
                <rect class="filled" width={100 * cost.utility} height="4" /></svg></span>
            <span>{words.shown(cost.utility, cost.half_width)}
              {cost.false > 0 && `, ${words.falsely(cost.false)}`}{cost.coarse > 0 && `, ${words.widely(cost.coarse)}`}</span>
            {Object.entries(cost.limits).map(([name, one]) => (
              <small key={name}>{one.sure === null ? words.limit(name, one.prior, one.limit) : words.sure(name, one.sure)}</small>
            ))}
          </>
        ) : <small>{words.waiting}</small>}
      </span>
    </label>
  );
}

// --- 5. an application, and the end

function Last({ setup, tried, finished }: Step & { finished: (made: Finished) => void }) {
  const words = texts.first.finish;
  const [phone, setPhone] = useKept(`${KEPT}phone`, () => false);
  const [application, setApplication] = useKept(`${KEPT}application`, () => "");
  const [starting, setStarting] = useState(false);
  const go = (event: SubmitEvent) => {
    event.preventDefault();
    const given = new FormData(event.target as HTMLFormElement);
    const text = (name: string) => String(given.get(name) ?? "").trim();
    setStarting(true);
    void tried(async () => finished(await first.finish(text("application"), phone ? text("source") : "")))
      .then(() => setStarting(false));
  };
  const chosen = setup.costs?.choices.find((one) => one.delta === setup.delta && one.vocabulary === setup.vocabulary);
  return (
    <form class="wide" onSubmit={go}>
      <p>{words.words}</p>
      {chosen && <p class="quiet">{texts.first.secrets.chosen(setup.secrets.join(", "))}.{" "}
        {texts.first.secrets.strict[String(chosen.delta)]}:{" "}
        {texts.first.secrets.shown(chosen.utility, chosen.half_width)}.
        {setup.held && setup.share !== null && <>{" "}{texts.first.secrets.laterKeep}.{" "}
          {texts.first.secrets.laterCost(setup.held.shown, setup.held.instead)}</>}</p>}
      <label>{words.application}
        <input name="application" required maxLength={100} autocomplete="off" placeholder={words.applicationHint}
          value={application} onInput={(event) => setApplication(event.currentTarget.value)} />
      </label>
      <label class="check"><input type="checkbox" checked={phone}
        onChange={(event) => setPhone(event.currentTarget.checked)} /> {words.phone}</label>
      {phone && <label>{words.phoneName}<input name="source" required maxLength={100} value="phone" /></label>}
      {starting ? <div class="working" role="status"><label>{words.starting} <progress /></label></div>
        : <Go disabled={setup.job !== null}>{words.go}</Go>}
    </form>
  );
}

/** It runs: from when on, and the tokens, which are shown this once. */
function Done({ finished, done, heading }: {
  finished: Finished; done: (person: string) => void; heading: { current: HTMLHeadingElement | null };
}) {
  const words = texts.first.finish;
  const { person, application, source } = finished;
  const [days, setDays] = useState<Days | null>(null);
  useNow();
  useEffect(() => void api.days(person).then(setDays, () => undefined), [person]);
  return (
    <div class="first">
      <h1 ref={heading} tabIndex={-1}>{days ? words.doneAt(clock(days.zone)(days.next)) : words.done}</h1>
      {days && <p class="countdown">{texts.today.runningIn(-since(days.next))}</p>}
      <p>{words.doneWords}</p>
      {application && <TokenCard made={{ ...application, purpose: "application", person }} title={words.reads} />}
      {source && <TokenCard made={{ ...source, purpose: "source", person }} title={words.writes} />}
      <Go onClick={() => done(person)}>{words.today}</Go>
    </div>
  );
}
