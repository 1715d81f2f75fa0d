import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import {
  Refused, secrets as gateway, type AlreadyTold, type Declared, type PreviewState, type SecretsDocument, type Terms,
  type Tried,
} from "./api";
import { Help } from "./help";
import { HeldHours, Hours, hoursInWords } from "./hours";
import { keep, recall, useKept } from "./kept";
import { timeOf } from "./locale";
import { Cost } from "./previewed";
import "./secrets.css";
import { texts } from "./texts";

/** One secret of the draft: what it was, if it was, and what it is to be; null where it is dropped. */
interface Item { was: Declared | null; now: Terms | null }

const AGAIN = 400; // milliseconds between two looks at a preview
const SOON = 250; // milliseconds of rest after which a change is tried out

/** A draft as it is kept: secrets by their names, so that those as they were are the same ones again. */
interface Kept { of: string; items: { was: string | null; now: Terms | null | "as it was" }[] }

function unsaved(items: Item[], of: string): Kept | null {
  if (items.every((one) => one.now === one.was)) return null;
  return { of, items: items.map(({ was, now }) => ({ was: was?.name ?? null, now: now === was ? "as it was" : now })) };
}

function itemsOf(document: SecretsDocument, kept: Kept | null): Item[] {
  const saved = latest(document);
  if (kept?.of !== document.draft.of) return saved.map((one) => ({ was: one, now: one }));
  return kept.items.map(({ was, now }) => {
    const before = saved.find((one) => one.name === was) ?? null;
    return { was: before, now: now === "as it was" ? before : now };
  });
}

const termsOf = (items: Item[]): Terms[] => items.flatMap((one) => (one.now ? [one.now] : []));
const latest = (document: SecretsDocument): Declared[] => (document.announced.at(-1) ?? document.in_force).secrets;

/** The secrets of a person: in force, announced, and a draft of others with what it would cost. */
export function Secrets({ person, out }: { person: string; out: () => void }) {
  const words = texts.secrets;
  const [found, setFound] = useState<SecretsDocument | null>(null);
  const [items, setItems] = useState<Item[]>([]);
  const [editing, setEditing] = useState<number | "new" | null>(() => recall(`editing ${person}`));
  const [problem, setProblem] = useState("");
  const [saved, setSaved] = useState("");

  const shown = useCallback((document: SecretsDocument, kept: Kept | null = null) => {
    setFound(document);
    setItems(itemsOf(document, kept));
    setEditing((now) => (kept || recall(`terms ${person}`) ? now : null));
  }, []);
  useLayoutEffect(() => {
    if (found) keep(`draft ${person}`, unsaved(items, found.draft.of));
  }, [items, found]);
  useLayoutEffect(() => {
    if (!found) return;
    keep(`editing ${person}`, editing);
    if (editing === null) keep(`terms ${person}`, null);
  }, [editing, found]);
  const failed = useCallback((error: unknown) => {
    if (error instanceof Refused && error.status === 401) out();
    else setProblem(error instanceof Refused ? error.message : texts.failed);
  }, [out]);
  const load = useCallback(() => gateway.read(person).then((document) => {
    shown(document, recall(`draft ${person}`));
    setProblem("");
  }, failed), [person]);
  useEffect(() => void load(), [load]);

  if (!found)
    return problem ? <p role="alert">{problem} <button type="button" onClick={load}>{texts.again}</button></p>
      : <p role="status">{texts.loading}</p>;

  const put = (index: number | "new", item: Item | null) => {
    setSaved("");
    setEditing(null);
    setItems((before) => {
      if (index === "new") return item ? [...before, item] : before;
      return before.flatMap((one, k) => (k !== index ? [one] : item ? [item] : []));
    });
  };
  const other = items.some((one) => one.now !== one.was);
  const fixed = found.fixed !== null;
  const editor = (index: number | "new", item: Item) => (
    <Editor key={`edit ${index}`} found={found} person={person} secret={item.now ?? item.was}
      others={termsOf(items.filter((_, k) => k !== index))} failed={failed}
      done={(now) => put(index, { was: item.was, now })} cancel={() => setEditing(null)} />
  );
  const announced = found.announced.at(-1);
  return (
    <>
      <div class="headed"><h1>{words.heading}</h1><Help word="limit" /></div>
      <p>{words.words}</p>
      {saved && <Saved words={saved} />}
      {problem && <p class="problem" role="alert">{problem}</p>}
      {found.fixed !== null && <p>{words.fixed} {found.fixed}</p>}
      <section aria-labelledby="latest">
        <h2 id="latest">{announced ? words.announced(announced.from) : words.inForce}</h2>
        {items.length === 0 && <p>{words.none}</p>}
        <ul class="cards secrets">
          {items.map((item, index) => editing === index ? <li key={index} class="editing">{editor(index, item)}</li> : (
            <One key={index} item={item} found={found} fixed={fixed || editing !== null} edit={() => setEditing(index)}
              put={(now) => put(index, now || item.was ? { was: item.was, now } : null)} />
          ))}
        </ul>
        {editing === "new" ? editor("new", { was: null, now: null })
          : <button type="button" disabled={fixed || editing !== null} onClick={() => setEditing("new")}>{words.add}</button>}
      </section>
      {other && editing === null && (
        <Draft found={found} person={person} draft={termsOf(items)} failed={failed}
          discard={() => {
            setEditing(null);
            shown(found);
          }}
          saved={(document) => {
            setEditing(null);
            shown(document);
            setProblem("");
            setSaved(words.saved(document.announced.at(-1)?.from ?? document.in_force.from));
          }} />
      )}
      {announced && [found.in_force, ...found.announced.slice(0, -1)].map((one, k) => (
        <section key={one.from} aria-label={k ? words.announced(one.from) : words.untilThen}>
          <h2>{k ? words.announced(one.from) : words.untilThen}</h2>
          {one.secrets.length === 0 && <p>{words.none}</p>}
          <ul class="cards secrets">
            {one.secrets.map((each) => (
              <li key={each.name} class="card"><About secret={each} times={found.times} /></li>
            ))}
          </ul>
        </section>
      ))}
      <Told told={found.already_told} times={found.times} />
    </>
  );
}

/** What was done; the focus goes there, since what was pressed is gone. */
function Saved({ words }: { words: string }) {
  const place = useRef<HTMLParagraphElement>(null);
  useEffect(() => place.current?.focus(), []);
  return <p class="saved" role="status" tabIndex={-1} ref={place}>{words}</p>;
}

/** A secret with its terms in words; it can be changed and dropped. */
function One({ item, found, fixed, edit, put }: {
  item: Item; found: SecretsDocument; fixed: boolean; edit: () => void; put: (now: Terms | null) => void;
}) {
  const words = texts.secrets;
  const { was, now } = item;
  const shown = now ?? was;
  if (!shown) return null;
  const mark = now === null ? "dropped" : was === null ? "new" : now !== was ? "changed" : null;
  return (
    <li class={now === null ? "card ended" : "card"}>
      <About secret={shown} times={found.times} mark={mark} />
      {now === null ? (
        <button type="button" class="quiet" disabled={fixed} aria-label={words.keepNamed(shown.name)} onClick={() => put(was)}>
          {words.keep}
        </button>
      ) : (
        <p class="acts">
          <button type="button" class="quiet" disabled={fixed} aria-label={words.changeNamed(shown.name)} onClick={edit}>
            {words.change}
          </button>
          <button type="button" class="quiet" disabled={fixed} aria-label={words.dropNamed(shown.name)} onClick={() => put(null)}>
            {words.drop}
          </button>
        </p>
      )}
    </li>
  );
}

const inPercent = (share: number): number => Number((100 * share).toFixed(4)); // 7, and not 7.000000000000001
const isDeclared = (one: Terms): one is Declared => "by_slot" in one;

function About({ secret, times, mark }: { secret: Terms | Declared; times: string[]; mark?: string | null }) {
  const words = texts.secrets;
  const whole = secret.slots === null || secret.slots.length === times.length;
  const moment = secret.at === "any" ? words.any(secret) : words.each;
  const when = whole ? moment : `${moment}, ${hoursInWords(secret.slots, times)}`;
  const known = isDeclared(secret) && secret.prior !== null && secret.limit !== null ? secret : null;
  return (
    <>
      <h3>{secret.name} {mark && <span class="mark">{words.marks[mark]}</span>}</h3>
      <p>{words.being(words.where(secret.contexts), when)}</p>
      {!whole && <HeldHours slots={secret.slots} times={times} />}
      {known?.prior != null && known.limit != null && <Rise from={known.prior} to={known.limit} />}
      {known && <Priors secret={known} times={times} />}
    </>
  );
}

/** From what habits tell to the limit, on a line from nothing to certainty. */
function Rise({ from, to }: { from: number; to: number }) {
  return (
    <div class="rise">
      <p>{texts.secrets.from(from, to)}</p>
      <svg viewBox="0 0 1000 12" preserveAspectRatio="none" aria-hidden="true">
        <rect class="ground" width="1000" height="12" />
        <rect class="known" width={1000 * from} height="12" />
        <rect class="filled" x={1000 * from} width={Math.max(4, 1000 * (to - from))} height="12" />
      </svg>
    </div>
  );
}

function Priors({ secret, times }: { secret: Declared; times: string[] }) {
  const words = texts.secrets;
  if (secret.prior === null || secret.mean === null) return null;
  const at = secret.prior_at === null ? null : timeOf(times[secret.prior_at] ?? "");
  return (
    <p class="quiet">{words.most(secret.prior, secret.mean, at)}
      {secret.cap !== null && ` ${words.cap(secret.cap)}`}
      {secret.warnings.map((one) => <span key={one} class="warning"> {one}.</span>)}
    </p>
  );
}

/** What was told before a secret was declared. */
function Told({ told, times }: { told: AlreadyTold[]; times: string[] }) {
  const words = texts.secrets;
  if (told.length === 0) return null;
  return (
    <div class="told-before">
      <p>{words.toldBefore}</p>
      <ul>{told.map((one) => (
        <li key={`${one.secret} ${one.date} ${one.slot}`}>
          {words.toldOne(one.secret, one.date, timeOf(times[one.slot] ?? ""), one.belief)}
        </li>
      ))}</ul>
    </div>
  );
}

/** One secret in hand: what it is about, tried out by the gateway as it changes. */
function Editor({ found, person, secret, others, failed, done, cancel }: {
  found: SecretsDocument; person: string; secret: Terms | null; others: Terms[]; failed: (error: unknown) => void;
  done: (now: Terms) => void; cancel: () => void;
}) {
  const words = texts.secrets;
  const [terms, setTerms] = useKept<Terms>(`terms ${person}`, () => secret ?? {
    name: "", contexts: [], slots: null, delta: found.draft.delta, at: "each", begins: null, cap: null, over: "day", sliding: false,
  });
  const [known, setKnown] = useState<Declared | null>(secret && isDeclared(secret) ? secret : null);
  const [wrong, setWrong] = useState("");
  const first = useRef<HTMLHeadingElement>(null);
  const asked = useRef(0);
  useEffect(() => first.current?.focus(), []);
  useEffect(() => {
    const number = ++asked.current;
    if (terms.contexts.length === 0) {
      setKnown(null);
      return undefined;
    }
    const trying = setTimeout(() => {
      const named = { ...terms, name: terms.name.trim() || list(terms.contexts) };
      gateway.check(person, [...others, named]).then((meant) => {
        if (number !== asked.current) return;
        setKnown(meant.secrets.at(-1) ?? null);
        setWrong("");
      }, (error) => {
        if (number !== asked.current) return;
        if (error instanceof Refused && error.status === 400) setWrong(error.message);
        else failed(error);
      });
    }, SOON);
    return () => clearTimeout(trying);
  }, [terms]);

  const list = (contexts: string[]) => contexts.join(" / ");
  const changed = (some: Partial<Terms>) => setTerms((before) => ({ ...before, ...some }));
  const every = () => new Set(found.times.map((_, slot) => slot));
  const held = terms.slots === null ? every() : new Set(terms.slots);
  const hold = (slots: Set<number>) => changed({
    slots: slots.size === found.times.length ? null : [...slots].sort((a, b) => a - b), begins: null,
  });
  const gain = terms.delta ?? found.draft.delta;
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const now = { ...terms, name: terms.name.trim() || list(terms.contexts) };
    gateway.check(person, [...others, now]).then(
      (meant) => done({ ...(meant.secrets.at(-1) as Declared), begins: now.begins }),
      (error) => (error instanceof Refused && error.status === 400 ? setWrong(error.message) : failed(error)),
    );
  };
  return (
    <form class="card editor" onSubmit={send} aria-label={words.editing(terms.name)}>
      <h3 ref={first} tabIndex={-1}>{words.editing(terms.name)}</h3>
      <fieldset><legend>{words.contexts}</legend>
        <div class="chips">
          {found.contexts.map((one) => (
            <label key={one} class="chip"><input type="checkbox" checked={terms.contexts.includes(one)}
              onChange={(event) => changed({
                contexts: found.contexts.filter((each) => (each === one ? event.currentTarget.checked
                  : terms.contexts.includes(each))),
              })} /><span>{one}</span></label>
          ))}
        </div>
      </fieldset>
      <label>{words.name}
        <input name="name" value={terms.name} maxLength={100} autocomplete="off" placeholder={list(terms.contexts)}
          onInput={(event) => changed({ name: event.currentTarget.value })} /></label>
      <fieldset class="wide"><legend>{words.hours}: {held.size ? hoursInWords([...held], found.times) : words.noHours}
      </legend>
        <p class="quiet">{words.hoursHelp}</p>
        <Hours times={found.times} prior={known?.by_slot ?? []} held={held} set={hold} />
        <p class="quiet">{known && words.bars(Math.max(0, ...known.by_slot))}</p>
        <p class="acts">
          <button type="button" class="quiet" onClick={() => hold(every())}>{words.wholeDay}</button>
          <button type="button" class="quiet" onClick={() => hold(new Set())}>{words.noHours}</button>
        </p>
      </fieldset>
      <fieldset><legend>{words.about}</legend>
        {(["each", "any"] as const).map((at) => (
          <label key={at} class="check"><input type="radio" name="at" checked={terms.at === at}
            onChange={() => changed({ at, begins: null })} />
            <span>{at === "each" ? words.eachWords : words.anyWords(terms)}</span></label>
        ))}
      </fieldset>
      <fieldset><legend>{words.delta} <span class="strength">{words.strength(gain)}</span></legend>
        <div class="delta">
          <input type="range" min="1" max="50" value={Math.round(100 * gain)} aria-label={words.delta}
            aria-valuetext={`${words.inPoints(gain)}, ${words.strength(gain)}`}
            onInput={(event) => changed({ delta: event.currentTarget.valueAsNumber / 100 })} />
          <label><input type="number" min="0" max="100" step="any" value={inPercent(gain)}
            aria-label={`${words.delta}, ${words.points}`}
            onInput={(event) => Number.isFinite(event.currentTarget.valueAsNumber)
              && changed({ delta: event.currentTarget.valueAsNumber / 100 })} />{words.points}</label>
        </div>
        <label class="cap">{words.never}
          <input type="number" min="0" max="100" step="any" value={terms.cap === null ? "" : inPercent(terms.cap)}
            onInput={(event) => changed({
              cap: event.currentTarget.value === "" ? null : event.currentTarget.valueAsNumber / 100,
            })} /></label>
        <div aria-live="polite">
          {known?.prior != null && known.limit != null && !wrong && (
            <>
              <Rise from={known.prior} to={known.limit} />
              <Priors secret={known} times={found.times} />
            </>
          )}
          {wrong && <p class="problem">{wrong}</p>}
        </div>
      </fieldset>
      <p class="acts">
        <button disabled={terms.contexts.length === 0}>{words.done}</button>
        <button type="button" class="quiet" onClick={cancel}>{words.cancel}</button>
      </p>
    </form>
  );
}

/** What is not saved yet: from when it would hold, what it would cost, and what it may tell. */
function Draft({ found, person, draft, failed, discard, saved }: {
  found: SecretsDocument; person: string; draft: Terms[]; failed: (error: unknown) => void; discard: () => void;
  saved: (document: SecretsDocument) => void;
}) {
  const words = texts.secrets;
  const [meant, setMeant] = useState<Tried | null>(null);
  const [wrong, setWrong] = useState("");
  const [state, setState] = useState<PreviewState | null>(null);
  const [busy, setBusy] = useState(false);
  const running = useRef<{ name: string; ended: boolean } | null>(null);
  const text = JSON.stringify(draft);
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => heading.current?.focus(), []); // it may be far below what was pressed

  const stop = useCallback(() => {
    running.current = null; // who asks for it sees that, and ends it
  }, []);
  const refused = (error: unknown) => {
    if (error instanceof Refused && error.status !== 401) setWrong(error.message);
    else failed(error);
  };
  useEffect(() => {
    stop();
    setState(null);
    gateway.try(person, draft).then((one) => {
      setMeant(one);
      setWrong("");
    }, refused);
  }, [text]);
  useEffect(() => {
    const left = () => {
      const one = running.current;
      if (one?.name) gateway.cancel(person, one.name);
      if (one) one.ended = one.name !== "";
      stop();
    };
    addEventListener("pagehide", left);
    return () => {
      removeEventListener("pagehide", left);
      left();
    };
  }, [stop]);

  const preview = async () => {
    stop();
    const mine = { name: "", ended: false };
    running.current = mine;
    setState({ done: 0, total: null, result: null, problem: null });
    setWrong("");
    try {
      mine.name = await gateway.preview(person, draft);
      while (running.current === mine) {
        const now = await gateway.previewed(person, mine.name);
        if (running.current !== mine) break;
        setState(now);
        if (now.result || now.problem) running.current = null;
        else await new Promise((after) => setTimeout(after, AGAIN));
      }
      if (!mine.ended) gateway.cancel(person, mine.name); // it is not asked for any more
    } catch (error) {
      if (running.current !== mine) return;
      running.current = null;
      setState(null);
      refused(error);
    }
  };
  const save = () => {
    stop();
    setBusy(true);
    gateway.save(person, draft, found.draft.of).then(saved, (error) => {
      setBusy(false);
      refused(error);
    });
  };
  const waiting = state !== null && !state.result && !state.problem;
  return (
    <section class="card draft" aria-labelledby="draft">
      <h2 id="draft" tabIndex={-1} ref={heading}>{words.draft}</h2>
      {wrong && <p class="problem" role="alert">{wrong}</p>}
      {meant && <p>{meant.same ? words.same : words.draftWords(meant.from)}</p>}
      <p class="quiet">{words.tells}</p>
      <p class="quiet">{words.file}</p>
      {waiting && (
        <p class="progress" role="status">{words.previewing}{" "}
          <progress aria-label={words.previewing} {...(state.total ? { value: state.done, max: state.total } : {})} />
          {state.total !== null && <span aria-hidden="true">{words.progress(state.done, state.total)}</span>}
        </p>
      )}
      {state?.problem && <p class="problem" role="alert">{state.problem}</p>}
      {state?.result && <Cost found={state.result} secrets={draft} />}
      <p class="acts">
        {waiting ? <button type="button" class="quiet" onClick={() => { stop(); setState(null); }}>{words.stop}</button>
          : <button type="button" class={state?.result ? "quiet" : ""} onClick={preview}>
            {state?.result ? words.again : words.preview}</button>}
        <button type="button" class={state?.result ? "" : "quiet"} disabled={busy || wrong !== "" || meant?.same === true}
          onClick={save}>{words.save}</button>
        <button type="button" class="quiet" onClick={discard}>{words.discard}</button>
      </p>
    </section>
  );
}
