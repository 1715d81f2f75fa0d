import { useEffect, useState } from "preact/hooks";
import { Help } from "./help";
import { useKept } from "./kept";
import { applications, type ViewGroups, type Views } from "./api";
import { texts } from "./texts";

interface Sketch { name: string; known: boolean; told: Record<string, string>; rest: string }

/** The views that tokens are made for: looked at, made, changed and removed. */
export function ViewList({ changed }: { changed: (views: Record<string, ViewGroups>) => void }) {
  const words = texts.applications;
  const [views, setViews] = useState<Views | null>(null);
  const [sketch, setSketch] = useKept<Sketch | null>("view", () => null);
  const [problem, setProblem] = useState("");
  const tried = async (call: () => Promise<Views>) => {
    try {
      const found = await call();
      setViews(found);
      changed(found.views);
      setSketch(null);
      setProblem("");
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  useEffect(() => void tried(applications.views), []);
  if (!views) return problem ? <p class="problem" role="alert">{problem}</p> : null;
  const names = Object.entries(views.views);
  const edit = (name: string, view: ViewGroups) => setSketch({
    name, known: true, rest: view.rest ?? "",
    told: Object.fromEntries(Object.entries(view.groups).flatMap(([group, of]) => of.map((one) => [one, group]))),
  });
  return (
    <section aria-labelledby="views">
      <div class="headed"><h2 id="views">{words.views}</h2><Help word="view" /></div>
      <p>{words.viewsWords}</p>
      <p class="quiet">{views.file ? words.viewFile(views.file) : words.noFile}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {names.length === 0 && <p>{words.noViews}</p>}
      <ul class="tokens">
        {names.map(([name, view]) => (
          <li key={name} class="card">
            <h3>{name}</h3>
            <ul class="groups">
              {Object.entries(view.groups).map(([group, of]) => <li key={group}>{words.viewGroup(group, of)}</li>)}
              <li>{view.rest ? words.viewRest(view.rest) : words.viewSilent}</li>
            </ul>
            {views.file && (
              <p>
                <button type="button" class="quiet" aria-label={words.viewEditNamed(name)} onClick={() => edit(name, view)}>
                  {words.viewEdit}
                </button>{" "}
                <button type="button" class="quiet" aria-label={words.viewRemoveNamed(name)}
                  onClick={() => tried(() => applications.remove(name))}>{words.viewRemove}</button>
              </p>
            )}
          </li>
        ))}
      </ul>
      {views.file && !sketch && (
        <button type="button" onClick={() => setSketch({ name: "", known: false, told: {}, rest: "" })}>{words.viewAdd}</button>
      )}
      {sketch && <Edit key={sketch.known ? sketch.name : ""} sketch={sketch} contexts={views.contexts} cancel={() => setSketch(null)}
        changed={setSketch} save={(name, view) => tried(() => applications.write(name, view))} />}
    </section>
  );
}

function Edit({ sketch, contexts, changed, save, cancel }: {
  sketch: Sketch; contexts: string[]; changed: (sketch: Sketch) => void; save: (name: string, view: ViewGroups) => void; cancel: () => void;
}) {
  const words = texts.applications;
  const { told } = sketch;
  const [empty, setEmpty] = useState(false);
  const groups = [...new Set(Object.values(told).map((one) => one.trim()).filter(Boolean))];
  const every = [...new Set([...contexts, ...Object.keys(sketch.told)])];
  const send = (event: SubmitEvent) => {
    event.preventDefault();
    const made = Object.fromEntries(groups.map((group) =>
      [group, every.filter((one) => told[one]?.trim() === group)]));
    setEmpty(!groups.length);
    const rest = sketch.rest.trim();
    const name = sketch.name.trim();
    if (groups.length) save(name, { groups: made, ...(rest ? { rest } : {}) });
  };
  return (
    <form class="card" onSubmit={send}>
      <h3>{sketch.known ? sketch.name : words.viewAdd}</h3>
      {!sketch.known && <label>{words.viewName}
        <input name="name" required maxLength={100} pattern={"[^\\/+#]+"} autocomplete="off" value={sketch.name}
          onInput={(event) => changed({ ...sketch, name: event.currentTarget.value })} /></label>}
      <p class="quiet">{words.viewToldWords}</p>
      <datalist id="groups">{groups.map((one) => <option key={one} value={one} />)}</datalist>
      <div class="told">
        {every.map((context) => (
          <label key={context}>{context}
            <input aria-label={words.viewToldOf(context)} list="groups" maxLength={100} autocomplete="off"
              placeholder={words.viewTold} value={told[context] ?? ""}
              onInput={(event) => changed({ ...sketch, told: { ...told, [context]: event.currentTarget.value } })} />
          </label>
        ))}
      </div>
      <label>{words.viewElse}<input name="rest" maxLength={100} autocomplete="off" value={sketch.rest}
        onInput={(event) => changed({ ...sketch, rest: event.currentTarget.value })} /></label>
      {empty && <p class="problem" role="alert">{words.viewEmpty}</p>}
      <p><button>{words.viewSave}</button>{" "}
        <button type="button" class="quiet" onClick={cancel}>{texts.places.cancel}</button></p>
    </form>
  );
}
