import { useState } from "preact/hooks";
import { api } from "./api";
import { texts } from "./texts";

/** The owner's password; the first time, one is chosen with the token that the terminal shows. */
export function Login({ owned, entered }: { owned: boolean; entered: () => void }) {
  const words = texts.login;
  const [problem, setProblem] = useState("");
  const [busy, setBusy] = useState(false);

  const send = (call: (given: FormData) => Promise<void>) => async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    try {
      await call(new FormData(event.target as HTMLFormElement));
      entered();
    } catch (error) {
      setProblem((error as Error).message);
      setBusy(false);
    }
  };
  const text = (given: FormData, name: string) => String(given.get(name) ?? "");

  return (
    <main class="lone">
      <h1>{texts.title}</h1>
      <p>{words.words}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {owned ? (
        <form key="enter" onSubmit={send((given) => api.login(text(given, "password")))}>
          <label>{words.password}
            <input name="password" type="password" autocomplete="current-password" required />
          </label>
          <button disabled={busy}>{words.enter}</button>
        </form>
      ) : (
        <form key="begin" onSubmit={send((given) => api.first(text(given, "token").trim(), text(given, "chosen")))}>
          <p>{words.firstWords}</p>
          <label>{words.token}<input name="token" autocomplete="off" spellcheck={false} required /></label>
          <label>{words.chosen}
            <input name="chosen" type="password" autocomplete="new-password" minLength={10} required />
          </label>
          <button disabled={busy}>{words.begin}</button>
        </form>
      )}
    </main>
  );
}
