import "./applications.css";
import { useCallback, useEffect, useState } from "preact/hooks";
import { applications, type Gets } from "./api";
import { label, setColours } from "./labels";
import { eventsOf, Seen } from "./sees";
import { texts } from "./texts";

const HUES = ["#59a9dd", "#f3d761", "#c2740a", "#99e5f9", "#b8b276", "#678a84", "#a5c8be", "#a06adb"];

/** A colour for each word that was sent: whoever has a token does not know those of the owner's places. */
function paint(gets: Gets): void {
  const labels = new Set(eventsOf(gets).flatMap((one) => label(one) ?? []).filter((one) => one !== "unknown"));
  setColours(Object.fromEntries([...labels].sort().map((one, k) => [one, HUES[k % HUES.length] ?? ""])));
}

/** What one token gets, to the byte. */
function Shown({ gets }: { gets: Gets }) {
  const words = texts.gets;
  return (
    <>
      <p>{gets.groups ? words.groups(Object.entries(gets.groups), gets.rest ?? null)
        : gets.view === "whole" ? words.whole : words.view(gets.view)}</p>
      {gets.now_only && <p>{words.nowOnly}</p>}
      <p class="quiet">{gets.slots ? words.words(gets.slots) : words.nothing}</p>
      {gets.slots > 0 && gets.answers.map(({ request, body }) => (
        <figure key={request}>
          <figcaption><code>{request}</code></figcaption>
          <pre tabIndex={0} aria-label={request}>{body}</pre>
        </figure>
      ))}
    </>
  );
}

/** For the owner, in the list of tokens: by the token's name, for nobody has its secret any more. */
export function GetsOf({ token }: { token: string }) {
  const [gets, setGets] = useState<Gets | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    applications.gets(token).then(setGets, (error: Error) => setProblem(error.message));
  }, [token]);
  if (problem) return <p class="problem" role="alert">{problem}</p>;
  return <div class="gets">{gets ? <Shown gets={gets} /> : <p role="status">{texts.loading}</p>}</div>;
}

/** A page of its own, for who has the token: the owner of an application, on any machine. It can be printed. */
export function OwnGets() {
  const words = texts.gets;
  const [secret, setSecret] = useState("");
  const [gets, setGets] = useState<Gets | null>(null);
  const [problem, setProblem] = useState("");
  const look = useCallback(async (given: string) => {
    try {
      const found = await applications.ownGets(given);
      paint(found);
      setGets(found);
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message || texts.failed);
    }
  }, []);
  useEffect(() => {
    const given = decodeURIComponent(location.hash.slice("#gets=".length));
    if (!given) return;
    history.replaceState(null, "", "#gets"); // the token does not stay in the address
    setSecret(given);
    void look(given);
  }, []);
  return (
    <main class="own-gets">
      <p><strong>{texts.title}</strong></p>
      <h1>{gets ? words.heading(gets.person) : words.ask}</h1>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {gets ? (
        <>
          <Seen gets={gets} name={words.thisApp} map={null} />
          <details><summary>{words.bytes}</summary><Shown gets={gets} /></details>
          <button type="button" class="quiet" onClick={() => look(secret)}>{words.again}</button>
        </>
      ) : (
        <form onSubmit={(event) => {
          event.preventDefault();
          void look(secret.trim());
        }}>
          <p>{words.askWords}</p>
          <label>{words.token}<input name="secret" autocomplete="off" spellcheck={false} required value={secret}
            onInput={(event) => setSecret(event.currentTarget.value)} /></label>
          <button>{words.look}</button>
        </form>
      )}
    </main>
  );
}
