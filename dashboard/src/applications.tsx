import "./applications.css";
import { useCallback, useEffect, useState } from "preact/hooks";
import { Account } from "./account";
import { Accounts } from "./accounts";
import { api, type NewToken, type Session, type Token, type ViewGroups } from "./api";
import { GetsOf } from "./gets";
import { Help } from "./help";
import { useKept } from "./kept";
import { Sees } from "./sees";
import { texts } from "./texts";
import { TokenCard, type Made } from "./token";
import { ViewList } from "./views";

/** Tokens: who reads what, since when; make one, which is shown once; revoke one. */
export function Applications({ session, out }: { session: Session; out: () => void }) {
  const words = texts.applications;
  const [tokens, setTokens] = useState<Token[] | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const [problem, setProblem] = useState("");
  const [views, setViews] = useState<Record<string, ViewGroups>>({});

  const tried = useCallback(async (call: () => Promise<void>) => {
    try {
      await call();
      setTokens(await api.tokens());
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  }, []);
  useEffect(() => void tried(async () => undefined), []);

  const add = (wanted: NewToken) => tried(async () => {
    setMade({ ...wanted, ...(await api.add(wanted)) });
  });
  const revoke = (token: string) => tried(async () => {
    await api.revoke(token);
    setMade((before) => (before?.token === token ? null : before));
  });

  return (
    <>
      <div class="headed"><h1>{words.heading}</h1><Help word="token" /></div>
      <p>{words.words}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {made && <TokenCard key={made.token} made={made} done={() => setMade(null)} />}
      {tokens?.length === 0 && <p>{words.none}</p>}
      <ul class="tokens">
        {tokens?.map((one) => <One key={one.token} token={one} views={views} revoke={() => revoke(one.token)} />)}
      </ul>
      {session.people.length > 0 && <New session={session} views={views} add={add} />}
      <ViewList changed={setViews} />
      <Account out={out} />
      <Accounts mine={session.account} out={out} />
    </>
  );
}

function One({ token, views, revoke }: { token: Token; views: Record<string, ViewGroups>; revoke: () => void }) {
  const words = texts.applications;
  const [asked, setAsked] = useState(false);
  const [open, setOpen] = useState(false);
  const name = token.name || token.token;
  const shown = views[token.view];
  const view = token.view === "whole" ? words.whole
    : shown ? `${token.view} (${words.shows(Object.keys(shown.groups), shown.rest ?? null)})` : token.view;
  const facts: [string, string][] = [
    [words.purpose, words.purposes[token.purpose] ?? token.purpose],
    [words.who, token.person ?? words.everybody],
    ...(token.purpose === "application"
      ? [[words.view, token.now_only ? `${view}, ${words.nowOnly}` : view] as [string, string]]
      : []),
    [words.made, words.since(token.made)],
    [words.used, token.used === null ? words.never : words.usedAt(token.used)],
    ...(token.revoked === null ? [] : [[words.ended, words.since(token.revoked)] as [string, string]]),
  ];
  return (
    <li class={token.revoked === null ? "card" : "card ended"}>
      <h2>{name}</h2>
      {token.revoked === null && token.purpose === "application" && <Sees token={token.token} name={name} />}
      <dl>{facts.map(([what, value]) => <div key={what}><dt>{what}</dt><dd>{value}</dd></div>)}</dl>
      {token.revoked === null && token.purpose === "application" && (
        <button type="button" class="quiet" aria-expanded={open} aria-label={words.getsNamed(name)} onClick={() => setOpen(!open)}>
          {words.gets}
        </button>
      )}{" "}
      {token.revoked === null && !asked && (
        <button type="button" class="quiet" aria-label={words.revokeNamed(name)} onClick={() => setAsked(true)}>
          {words.revoke}
        </button>
      )}
      {token.revoked === null && asked && (
        <p role="alert">{words.sure(name)}{" "}
          <button type="button" class="danger" onClick={revoke}>{words.yes}</button>{" "}
          <button type="button" class="quiet" onClick={() => setAsked(false)}>{words.no}</button>
        </p>
      )}
      {open && token.revoked === null && <GetsOf token={token.token} />}
    </li>
  );
}

function New({ session, views, add }: {
  session: Session; views: Record<string, ViewGroups>; add: (wanted: NewToken) => void;
}) {
  const words = texts.applications;
  const [purpose, setPurpose] = useState("application");
  const [name, setName] = useKept("token", () => "");
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const given = new FormData(form);
    const wanted: NewToken = { purpose, name: name.trim(), person: String(given.get("person")) };
    if (purpose === "application") {
      wanted.view = String(given.get("view"));
      wanted.now_only = given.has("now_only");
    }
    add(wanted);
    form.reset();
    setName("");
    setPurpose("application");
  };
  return (
    <form class="card" onSubmit={send}>
      <h2>{words.add}</h2>
      <label>{words.purpose}
        <select value={purpose} onChange={(event) => setPurpose(event.currentTarget.value)}>
          <option value="application">{words.addApplication}</option>
          <option value="source">{words.addSource}</option>
        </select>
      </label>
      <label>{words.name}<input name="name" required maxLength={100} autocomplete="off" value={name}
        onInput={(event) => setName(event.currentTarget.value)} /></label>
      <label>{words.who}
        <select name="person">{session.people.map((name) => <option key={name}>{name}</option>)}</select>
      </label>
      {purpose === "application" && (
        <>
          <label>{words.view}
            <select name="view">
              {[...new Set(["whole", ...Object.keys(session.views), ...Object.keys(views)])].sort((a, b) => Number(b === "whole") - Number(a === "whole")).map((name) => (
                <option key={name} value={name}>{name === "whole" ? words.whole : name}</option>
              ))}
            </select>
          </label>
          <label class="check"><input type="checkbox" name="now_only" /> {words.nowOnly}</label>
        </>
      )}
      <button>{words.make}</button>
    </form>
  );
}
