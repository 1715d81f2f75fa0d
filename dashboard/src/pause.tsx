import { useCallback, useEffect, useState } from "preact/hooks";
import { api, Refused, type PausedDays } from "./api";
import { Help } from "./help";
import { dayName } from "./locale";
import { texts } from "./texts";

/** Days on which apps get nothing: announced, shown, taken back. What is too soon is refused, and it is said why. */
export function Pause({ person }: { person: string }) {
  const words = texts.pause;
  const [found, setFound] = useState<PausedDays | null>(null);
  const [problem, setProblem] = useState("");
  const [first, setFirst] = useState("");
  const [last, setLast] = useState("");
  const tried = useCallback(async (call: () => Promise<PausedDays>) => {
    try {
      setFound(await call());
      setProblem("");
      return true;
    } catch (error) {
      setProblem(error instanceof Refused ? error.message : texts.failed);
      return false;
    }
  }, []);
  useEffect(() => void tried(() => api.pauses(person)), [person]);
  if (!found) return problem ? <p class="problem" role="alert">{problem}</p> : null;
  const from = first || found.earliest;
  const announce = (event: Event) => {
    event.preventDefault();
    void tried(() => api.pause(person, from, last < from ? from : last)).then((done) => {
      if (!done) return;
      setFirst("");
      setLast("");
    });
  };
  return (
    <section class="pause" aria-labelledby="pause">
      <div class="headed"><h2 id="pause">{words.heading}</h2><Help word="pause" /></div>
      {found.pauses.map((one) => (
        <p key={one.first}>{one.first <= found.today ? words.now(dayName(one.last)) : words.coming(one.first, one.last)}{" "}
          <button type="button" class="quiet" aria-label={words.backNamed(dayName(one.first))}
            onClick={() => void tried(() => api.unpause(person, one.first))}>{words.back}</button></p>
      ))}
      <details>
        <summary>{words.announce}</summary>
        <form onSubmit={announce}>
          <p class="quiet">{words.words(dayName(found.earliest))}</p>
          <div class="pair">
            <label>{words.first}<input type="date" name="first" required value={from}
              onInput={(event) => setFirst(event.currentTarget.value)} /></label>
            <label>{words.last}<input type="date" name="last" required min={from} value={last < from ? from : last}
              onInput={(event) => setLast(event.currentTarget.value)} /></label>
          </div>
          <button>{words.go}</button>
        </form>
      </details>
      {problem && <p class="problem" role="alert">{problem}</p>}
    </section>
  );
}
