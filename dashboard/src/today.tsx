import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { api, type Beliefs, type Day, type Days, type Heard, type Notice, type Secret, type Slot } from "./api";
import { BeliefOf, Key } from "./beliefs";
import { Calendar } from "./calendar";
import { useDays, type Looked } from "./days";
import { Export } from "./export";
import { Help } from "./help";
import { Drifted, isMissed, Sources, useHeard } from "./health";
import { toldUntil } from "./labels";
import { asHere, clock, dayName, moved, ownZone, since } from "./locale";
import { useNow } from "./now";
import { Pause } from "./pause";
import type { Looking } from "./slots";
import { Strip } from "./strip";
import { texts } from "./texts";
import "./today.css";
import { PastWeeks, Time } from "./time";

/** One day: true beside told, and what may be believed of each secret. The latest day moves as slots are told. */
export function Today({ person, out }: { person: string; out: () => void }) {
  const looked = useDays(person, out);
  const { days, seen, problem } = looked;
  const heard = useHeard(person);
  const [at, setAt] = useState<number | null>(null); // the slot that is looked at, in the strip and in every line
  const stale = useStale(looked.live);
  const go = (date: string | null) => {
    setAt(null);
    looked.go(date);
  };
  if (problem && !seen)
    return <p role="alert">{problem} <button type="button" onClick={looked.again}>{texts.again}</button></p>;
  if (!days) return <p role="status">{texts.loading}</p>;
  if (!seen || !days.first || !days.last) return <Running person={person} days={days} heard={heard} />;
  return (
    <div class={looked.latest && stale ? "stale" : undefined}>
      <Picker person={person} looked={looked} day={seen.day} go={go} />
      {looked.latest && stale && <Stale since={stale} />}
      {problem && <p class="problem" role="alert">{problem}</p>}
      {looked.latest && <Status days={days} day={seen.day} beliefs={seen.beliefs} heard={heard} />}
      <OfDay day={seen.day} beliefs={seen.beliefs} at={at} look={setAt} />
      <Time person={person} day={seen.day} last={days.last} go={go} />
      <BeliefsOf person={person} days={days} day={seen.day} beliefs={seen.beliefs} at={at} look={setAt} />
      <Sources heard={heard} />
      <Pause person={person} />
      <Before person={person} />
      <Export person={person} days={days} day={seen.day} />
    </div>
  );
}

const PATIENCE = 4000; // milliseconds without a connection before anything is called out of date

/** Since when there is no connection; null where there is one, or it went just now. */
function useStale(live: boolean): string | null {
  const [since, setSince] = useState<string | null>(null);
  useEffect(() => {
    if (live) return setSince(null);
    const went = new Date().toISOString();
    const timer = setTimeout(() => setSince(went), PATIENCE);
    return () => clearTimeout(timer);
  }, [live]);
  return since;
}

function Stale({ since }: { since: string }) {
  useNow(5);
  const seconds = (Date.now() - Date.parse(since)) / 1000;
  return <p class="problem" role="status">{texts.today.stale(clock(ownZone())(since), seconds)}</p>;
}

/** Before the first slot: that it runs, when something comes, and whether the phone was heard. */
function Running({ person, days, heard }: { person: string; days: Days; heard: Heard | null }) {
  const words = texts.today;
  useNow();
  const [latest] = heard?.sources ?? [];
  return (
    <>
      <h1>{words.running(clock(days.zone)(days.next))}</h1>
      <p class="countdown">{words.runningIn(Math.max(0, -since(days.next)))}</p>
      <p role="status">{latest ? texts.status.heard(latest.source, since(latest.heard)) : texts.status.unheard}</p>
      <p class="quiet">{words.runningWords}</p>
      <PastWeeks person={person} />
      <Sources heard={heard} />
    </>
  );
}

/** The weeks that were imported, for who asks. */
function Before({ person }: { person: string }) {
  const [open, setOpen] = useState(false);
  return (
    <details class="before" onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{texts.time.past.heading}</summary>
      {open && <PastWeeks person={person} say />}
    </details>
  );
}

const NEAR = 0.8; // of the way from what is known anyway to the limit

/** Whether a stranger's guess came near the limit at some slot that was told. */
function isNear(secret: Secret, told: number): boolean {
  const near = (belief: number | null | undefined, prior: number | null | undefined, limit: number | null | undefined) =>
    belief != null && prior != null && limit != null && limit > prior && belief >= prior + NEAR * (limit - prior);
  if (secret.at === "any") return near(secret.belief, secret.prior, secret.limit);
  return secret.belief.slice(0, told).some((belief, slot) => near(belief, secret.prior[slot], secret.limit[slot]));
}

/** How it stands, in a line: what was heard, what comes next, and which secrets are near their limits. */
function Status({ days, day, beliefs, heard }: { days: Days; day: Day; beliefs: Beliefs; heard: Heard | null }) {
  const words = texts.status;
  useNow(5);
  const [latest] = heard?.sources ?? [];
  const told = toldUntil(day);
  const ahead = day.slots[told]?.end ?? days.next;
  const near = beliefs.secrets.filter((one) => isNear(one, told)).map((one) => one.name);
  const quiet = heard?.sources.find(isMissed);
  const counts = heard && heard.sources.length > 1 ? heard.sources.find((one) => one.use === "believed") : undefined;
  const parts = [
    quiet ? words.quiet(quiet.source, since(quiet.heard))
      : latest ? words.heard(latest.source, since(latest.heard)) : words.unheard,
    ...(counts ? [words.counts(counts.source)] : []),
    words.next(clock(day.zone)(ahead), Math.max(0, -since(ahead))),
    ...(beliefs.secrets.length ? [near.length ? words.near(near) : words.roomy] : []),
    ...(heard && heard.broker !== null ? [words.broker(heard.broker)] : []),
  ];
  return (
    <div class="headed">
      <p class="status" aria-label={words.label}>{parts.map((one) => <span key={one}>{one}</span>)}</p>
      <Help word="update" />
    </div>
  );
}

function Picker({ person, looked, day, go }: {
  person: string; looked: Looked; day: Day; go: (date: string | null) => void;
}) {
  const words = texts.today;
  const { days, latest, live } = looked;
  const [open, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (back = true) => {
    setOpen(false);
    if (back) button.current?.focus();
  };
  const chosen = (date: string) => {
    close();
    go(date);
  };
  return (
    <div class="picking" onKeyDown={(event) => event.key === "Escape" && open && close()}>
      <div class="bar">
        <h1>{dayName(day.date)}</h1>
        <div class="picker">
          <button type="button" aria-label={words.earlier} disabled={day.date <= (days?.first ?? "")}
            onClick={() => go(moved(day.date, -1))}>‹</button>
          <button type="button" ref={button} aria-expanded={open} onClick={() => setOpen(!open)}>{words.calendar}</button>
          <button type="button" aria-label={words.later} disabled={day.date >= (days?.last ?? "")}
            onClick={() => go(moved(day.date, 1))}>›</button>
          {!latest && <button type="button" onClick={() => go(null)}>{words.latest}</button>}
          {latest && <span class={live ? "live" : "live off"} role="status">{live ? words.live : words.waiting}</span>}
        </div>
      </div>
      {open && days && <Calendar person={person} days={days} date={day.date} go={chosen} close={close} />}
    </div>
  );
}

function OfDay({ day, beliefs, at, look }: { day: Day; beliefs: Beliefs } & Looking) {
  const words = texts.today;
  const names = beliefs.secrets.flatMap((one) => one.contexts).join("\n");
  const secret = useMemo(() => new Set(names ? names.split("\n") : []), [names]); // the same while the day moves
  const decided = day.slots.filter((one) => one.told !== null);
  const shown = decided.filter((one) => one.told?.context !== undefined || one.told?.node !== undefined);
  const hours = (some: Slot[]) => some.reduce((sum, one) => sum + (Date.parse(one.end) - Date.parse(one.start)) / 3_600_000, 0);
  return (
    <section aria-label={words.strip}>
      <p class="figure">{decided.length ? words.shown(hours(shown), hours(decided)) : words.nothing("")}</p>
      {decided.length > 0 && decided.every((one) => one.true === null) && <p class="quiet">{words.truthGone}</p>}
      <Strip day={day} secret={secret} at={at} look={look} />
    </section>
  );
}

/** Whether habits are still true, on which every limit rests: what the data of the last weeks say. */
function Habits({ person, last }: { person: string; last: string }) {
  const [notice, setNotice] = useState<Notice | null>(null);
  useEffect(() => {
    api.notices().then((found) => setNotice(found.find((one) => one.person === person) ?? null), () => undefined);
  }, [person, last]);
  const words = texts.today;
  if (!notice) return <p class="quiet">{words.habitsAsked}</p>;
  return (
    <>
      {notice.drifted ? <Drifted notice={notice} />
        : <p class="quiet">{notice.holds ? words.habitsHold : words.habitsUnknown}</p>}
      <details><summary>{words.figures}</summary><p class="quiet">{asHere(notice.words)}</p></details>
    </>
  );
}

function BeliefsOf({ person, days, day, beliefs, at, look }: {
  person: string; days: Days; day: Day; beliefs: Beliefs;
} & Looking) {
  const words = texts.today;
  return (
    <section aria-labelledby="beliefs">
      <div class="headed"><h2 id="beliefs">{words.beliefs}</h2><Help word="stranger" /></div>
      <p class="quiet">{words.beliefsWords}{!days.unpromised && ` ${words.beliefsLimit}`}</p>
      {days.unpromised && <p class="problem unpromised">{words.beliefsUnpromised} {asHere(days.unpromised)}</p>}
      <Habits person={person} last={day.date} />
      {beliefs.why && <p>{words.noBeliefs}</p>}
      {!beliefs.why && beliefs.secrets.length === 0 && <p>{words.noSecrets}</p>}
      {beliefs.secrets.length > 0 && <div class="headed"><Key /><Help word="limit" /></div>}
      <div class="cards">
        {beliefs.secrets.map((one) => <BeliefOf key={one.name} secret={one} day={day} at={at} look={look} />)}
      </div>
    </section>
  );
}
