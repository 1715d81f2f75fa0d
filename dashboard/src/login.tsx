import { useState } from "preact/hooks";
import { api } from "./api";
import { texts } from "./texts";

/** A password and perhaps a name; the first time, a password is chosen with the token that the terminal shows, or with
 *  the invitation that the address has. */
export function Login({ owned, accounts, entered }: { owned: boolean; accounts: boolean; entered: () => void }) {
  const [invitation] = useState(() => /^#invited\/(.+)$/.exec(location.hash)?.[1] ?? "");
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
      {invitation ? (
        <form key="invited" onSubmit={send(async (given) => {
          await api.accept(invitation, text(given, "chosen"));
          history.replaceState(null, "", "#today"); // it holds no more
        })}>
          <p>{words.invited}</p>
          <label>{words.chosen}
            <input name="chosen" type="password" autocomplete="new-password" minLength={10} required />
          </label>
          <button disabled={busy}>{words.accept}</button>
        </form>
      ) : owned ? (
        <form key="enter" onSubmit={send((given) => api.login(text(given, "password"), text(given, "name").trim()))}>
          {accounts && <label>{words.name}<input name="name" autocomplete="username" spellcheck={false} /></label>}
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
