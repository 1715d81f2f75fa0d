import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { api, type NewToken, type Session, type Token } from "./api";
import { texts } from "./texts";

interface Made { token: string; name: string; secret: string }

/** Tokens: who reads what, since when; make one, which is shown once; revoke one. */
export function Applications({ session }: { session: Session }) {
  const words = texts.applications;
  const [tokens, setTokens] = useState<Token[] | null>(null);
  const [made, setMade] = useState<Made | null>(null);
  const [problem, setProblem] = useState("");

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
    setMade({ name: wanted.name, ...(await api.add(wanted)) });
  });
  const revoke = (token: string) => tried(async () => {
    await api.revoke(token);
    setMade((before) => (before?.token === token ? null : before));
  });

  return (
    <>
      <h1>{words.heading}</h1>
      <p>{words.words}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {made && <Once made={made} done={() => setMade(null)} />}
      {tokens?.length === 0 && <p>{words.none}</p>}
      <ul class="tokens">
        {tokens?.map((one) => <One key={one.token} token={one} revoke={() => revoke(one.token)} />)}
      </ul>
      <New session={session} add={add} />
    </>
  );
}

function One({ token, revoke }: { token: Token; revoke: () => void }) {
  const words = texts.applications;
  const [asked, setAsked] = useState(false);
  const name = token.name || token.token;
  const view = token.view === "whole" ? words.whole : token.view;
  const facts: [string, string][] = [
    [words.purpose, words.purposes[token.purpose] ?? token.purpose],
    [words.who, token.person ?? words.everybody],
    ...(token.purpose === "application"
      ? [[words.view, token.now_only ? `${view}, ${words.nowOnly}` : view] as [string, string]]
      : []),
    [words.made, words.since(token.made)],
    [words.used, token.used === null ? words.never : words.since(token.used)],
    ...(token.revoked === null ? [] : [[words.ended, words.since(token.revoked)] as [string, string]]),
  ];
  return (
    <li class={token.revoked === null ? "card" : "card ended"}>
      <h2>{name}</h2>
      <dl>{facts.map(([what, value]) => <div key={what}><dt>{what}</dt><dd>{value}</dd></div>)}</dl>
      {token.revoked === null && !asked && (
        <button class="quiet" aria-label={words.revokeNamed(name)} onClick={() => setAsked(true)}>
          {words.revoke}
        </button>
      )}
      {token.revoked === null && asked && (
        <p role="alert">{words.sure(name)}{" "}
          <button class="danger" onClick={revoke}>{words.yes}</button>{" "}
          <button class="quiet" onClick={() => setAsked(false)}>{words.no}</button>
        </p>
      )}
    </li>
  );
}

function Once({ made, done }: { made: Made; done: () => void }) {
  const words = texts.applications;
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  useEffect(() => field.current?.select(), [made]);
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard?.writeText(made.secret).then(() => setCopied(true), () => undefined);
  };
  return (
    <section class="card once" aria-label={words.secret(made.name)}>
      <h2>{words.secret(made.name)}</h2>
      <p>{words.once}</p>
      <input ref={field} readOnly value={made.secret} aria-label={words.secret(made.name)} />
      <button onClick={copy}>{copied ? words.copied : words.copy}</button>{" "}
      <button class="quiet" onClick={done}>{words.done}</button>
    </section>
  );
}

function New({ session, add }: { session: Session; add: (wanted: NewToken) => void }) {
  const words = texts.applications;
  const [purpose, setPurpose] = useState("application");
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const given = new FormData(form);
    const wanted: NewToken = { purpose, name: String(given.get("name")).trim(), person: String(given.get("person")) };
    if (purpose === "application") {
      wanted.view = String(given.get("view"));
      wanted.now_only = given.has("now_only");
    }
    add(wanted);
    form.reset();
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
      <label>{words.name}<input name="name" required maxLength={100} autocomplete="off" /></label>
      <label>{words.who}
        <select name="person">{session.people.map((name) => <option key={name}>{name}</option>)}</select>
      </label>
      {purpose === "application" && (
        <>
          <label>{words.view}
            <select name="view">
              {Object.keys(session.views).sort((a, b) => Number(b === "whole") - Number(a === "whole")).map((name) => (
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
