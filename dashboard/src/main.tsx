import { render } from "preact";
import { useCallback, useEffect, useState } from "preact/hooks";
import { api, type Session } from "./api";
import { Applications } from "./applications";
import { First } from "./first";
import { OwnGets } from "./gets";
import { Health, Notices } from "./health";
import { forget } from "./kept";
import { setColours } from "./labels";
import { Login } from "./login";
import { Places } from "./places";
import { Secrets } from "./secrets";
import { texts } from "./texts";
import { Today } from "./today";

type Screen = keyof typeof texts.screens;

/** By the address: `#places`, or `#today/2026-04-22` for one day of today's screen. */
function screen(): Screen {
  const name = location.hash.slice(1).split("/")[0] ?? "";
  return name in texts.screens ? (name as Screen) : "today";
}

function Page() {
  const [session, setSession] = useState<Session | null>(null);
  const [state, setState] = useState<"asking" | "out" | "in" | "failed">("asking");
  const [owned, setOwned] = useState(true);
  const [accounts, setAccounts] = useState(false);
  const [at, setAt] = useState<Screen>(screen());
  const [person, setPerson] = useState("");
  const [hash, setHash] = useState(location.hash.slice(1));
  const [coloured, setColoured] = useState(""); // whose places have their colours

  const enter = useCallback(async () => {
    try {
      const door = await api.door();
      setOwned(door.owned);
      setAccounts(door.accounts);
      // Who was invited is not who is logged in here.
      if (!door.entered || location.hash.startsWith("#invited/")) return setState("out");
      const found = await api.session();
      setSession(found);
      setPerson((before) => (found.people.includes(before) ? before : (found.people[0] ?? "")));
      setState("in");
    } catch {
      setState("failed");
    }
  }, []);
  const lone = session !== null && session.people.length === 0; // nobody is to be seen to, or all have accounts
  const adding = session?.account === null && ((lone && !accounts) || hash === "add");
  const shown = lone && !adding ? "applications" : at;
  const leave = async () => {
    forget();
    await api.logout().catch(() => undefined);
    setState("out");
  };
  useEffect(() => {
    if (state !== "in" || !person) return;
    api.colours(person).then(setColours, () => setColours({})).then(() => setColoured(person));
  }, [state, person]);

  useEffect(() => {
    void enter();
    const turned = () => {
      setAt(screen());
      setHash(location.hash.slice(1));
    };
    addEventListener("hashchange", turned);
    return () => removeEventListener("hashchange", turned);
  }, []);

  if (state === "asking") return <p class="lone" role="status">{texts.loading}</p>;
  if (state === "failed")
    return <p class="lone" role="alert">{texts.failed} <button type="button" onClick={enter}>{texts.again}</button></p>;
  if (state === "out" || session === null) return <Login owned={owned} accounts={accounts} entered={enter} />;
  return (
    <>
      <a class="skip" href="#content" onClick={(event) => {
        event.preventDefault();
        document.getElementById("content")?.focus();
      }}>{texts.skip}</a>
      <header>
        <strong>{texts.title}</strong>
        <nav>
          {(!lone || accounts) && (Object.keys(texts.screens) as Screen[]).map((name) => (
            (!lone || name === "applications") && <a key={name} href={`#${name}`}
              aria-current={name === shown && !adding ? "page" : undefined}>{texts.screens[name]}</a>
          ))}
        </nav>
        {session.people.length > 1 && (
          <label>{texts.person}{" "}
            <select value={person} onChange={(event) => setPerson(event.currentTarget.value)}>
              {session.people.map((name) => <option key={name}>{name}</option>)}
            </select>
          </label>
        )}
        {session.account === null && (!lone || accounts) && !adding && <a class="add" href="#add">{texts.first.add}</a>}
        <button type="button" class="quiet" onClick={leave}>{texts.leave}</button>
      </header>
      <main id="content" tabIndex={-1}>
        <Health />
        {!adding && shown !== "today" && coloured === person && person && <Notices key={person} person={person} />}
        {adding && <First out={() => setState("out")} done={(name) => {
          location.hash = "today";
          setPerson(name);
          void enter();
        }} />}
        {!adding && shown !== "applications" && coloured !== person && <p role="status">{texts.loading}</p>}
        {!adding && shown === "today" && coloured === person && <Today key={person} person={person} out={() => setState("out")} />}
        {!adding && shown === "places" && coloured === person && <Places key={person} person={person} out={() => setState("out")} />}
        {!adding && shown === "secrets" && coloured === person && <Secrets key={person} person={person} out={() => setState("out")} />}
        {!adding && shown === "applications" && <Applications session={session} out={() => setState("out")} />}
      </main>
    </>
  );
}

const root = document.getElementById("page");
if (root) render(location.hash.startsWith("#gets") ? <OwnGets /> : <Page />, root);
