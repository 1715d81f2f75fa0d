import { useEffect, useState } from "preact/hooks";
import { api, type Heard, type Notice, type Ready, type Source } from "./api";
import { since } from "./locale";
import { useNow } from "./now";
import { texts } from "./texts";

const AGAIN = 15_000; // milliseconds until it is asked again

/** What does not work at present, above every screen; nothing where all is well. */
export function Health() {
  const [ready, setReady] = useState<Ready | null>(null);
  const look = () => api.ready().then(setReady, () => undefined);
  useEffect(() => {
    void look();
    const again = setInterval(look, AGAIN);
    return () => clearInterval(again);
  }, []);
  const words = texts.health;
  return (
    <>
      {(ready?.reasons ?? []).map((one) => (
        <p key={one.part} class="problem" role="alert">
          {words.broken(one.part)} {one.words}.{" "}
          {one.part === "clock" && <button type="button" onClick={() => api.acceptClock().then(look, look)}>{words.accept}</button>}
        </p>
      ))}
    </>
  );
}

/** What the owner has to know wherever on the page they are: a source that is quiet, habits that no longer hold. */
export function Notices({ person }: { person: string }) {
  const heard = useHeard(person);
  const [notice, setNotice] = useState<Notice | null>(null);
  useEffect(() => {
    const look = () => api.notices().then((found) => setNotice(found.find((one) => one.person === person) ?? null), () => undefined);
    void look();
    const again = setInterval(look, 40 * AGAIN);
    return () => clearInterval(again);
  }, [person]);
  const words = texts.health;
  return (
    <div class="notices">
      {heard?.sources.filter(isMissed).map((one) => (
        <p key={one.source} class="problem" role="alert">{words.heard(one.source, since(one.heard))} {words.quiet}</p>
      ))}
      {notice?.drifted && <Drifted notice={notice} />}
    </div>
  );
}

/** Quiet for longer than usual, and not left out by the settings. */
export const isMissed = (one: Source) => one.quiet && one.use !== "ignored";

/** Habits that no longer hold, and where they are learned again; or a reserve that is too small, where they do. */
export const Drifted = ({ notice }: { notice: Notice }) => (
  <p class="problem drifted" role="alert">
    {notice.holds === false ? texts.today.habitsDrifted : texts.today.reserveShort}{" "}
    <a href="#places">{texts.routine.again}</a></p>
);

/** What was heard of a person's sources, asked for again and again. */
export function useHeard(person: string): Heard | null {
  const [heard, setHeard] = useState<Heard | null>(null);
  useEffect(() => {
    const look = () => api.sources(person).then(setHeard, () => undefined);
    void look();
    const again = setInterval(look, 4 * AGAIN);
    return () => clearInterval(again);
  }, [person]);
  return heard;
}

/** When each source was heard last, which of several counts, and what came that could not be used. */
export function Sources({ heard }: { heard: Heard | null }) {
  useNow(10);
  if (!heard) return null;
  const words = texts.health;
  const refused = Object.entries(heard.refused);
  return (
    <section aria-labelledby="sources">
      <h2 id="sources">{words.sources}</h2>
      {heard.sources.length === 0 && <p>{words.never}</p>}
      {heard.sources.map((one) => {
        const several = heard.sources.length > 1 || one.use === "ignored";
        const said = words.heard(one.source, since(one.heard)) + (several ? words.use(one.use, heard.phone) : "");
        return isMissed(one) ? <p key={one.source} class="problem" role="alert">{said} {words.quiet}</p>
          : <p key={one.source} class="quiet">{said}</p>;
      })}
      {heard.phone && heard.sources.every((one) => one.use === "ignored") &&
        <p class="problem" role="alert">{words.unknown(heard.phone)}</p>}
      {refused.map(([why, number]) => <p key={why} class="problem">{words.refused(why, number)}</p>)}
    </section>
  );
}
