import { useState } from "preact/hooks";
import { api } from "./api";
import { texts } from "./texts";

/** Another password, and logging out wherever one is logged in. */
export function Account({ out }: { out: () => void }) {
  const words = texts.account;
  const [problem, setProblem] = useState("");
  const [done, setDone] = useState(false);
  const change = async (event: SubmitEvent) => {
    event.preventDefault();
    const form = event.target as HTMLFormElement;
    const given = new FormData(form);
    try {
      await api.password(String(given.get("present") ?? ""), String(given.get("chosen") ?? ""));
      form.reset();
      setProblem("");
      setDone(true);
    } catch (error) {
      setDone(false);
      setProblem((error as Error).message);
    }
  };
  const leave = () => api.everywhere().then(out, (error: Error) => setProblem(error.message));
  return (
    <section class="card">
      <h2>{words.heading}</h2>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {done && <p role="status">{words.done}</p>}
      <form onSubmit={change}>
        <label>{words.present}
          <input name="present" type="password" autocomplete="current-password" required />
        </label>
        <label>{words.chosen}
          <input name="chosen" type="password" autocomplete="new-password" minLength={10} required />
        </label>
        <button>{words.change}</button>
      </form>
      <p><button type="button" class="quiet" onClick={leave}>{words.everywhere}</button></p>
    </section>
  );
}
