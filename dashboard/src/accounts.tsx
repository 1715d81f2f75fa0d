import { useEffect, useState } from "preact/hooks";
import { api, whole, type Account } from "./api";
import { texts } from "./texts";

/** Who has an account, for who administers; for an account, its own end. */
export function Accounts({ mine, out }: { mine: string | null; out: () => void }) {
  const words = texts.accounts;
  const [all, setAll] = useState<Account[]>([]);
  const [invited, setInvited] = useState<{ person: string; address: string } | null>(null);
  const [asked, setAsked] = useState("");
  const [problem, setProblem] = useState("");

  const tried = async (call: () => Promise<unknown>) => {
    try {
      await call();
      setAsked("");
      setProblem("");
      if (mine === null) setAll(await api.accounts());
    } catch (error) {
      setProblem((error as Error).message);
    }
  };
  useEffect(() => void tried(async () => undefined), []);

  const invite = (person: string) => tried(async () => {
    setInvited({ person, address: `${whole("")}#invited/${await api.invite(person)}` });
  });
  const remove = (person: string) => tried(async () => {
    await api.removeAccount(person);
    setInvited(null);
    if (person === mine) out();
  });
  const really = (person: string) => (
    <>
      <button type="button" onClick={() => remove(person)}>{words.really}</button>{" "}
      <button type="button" class="quiet" onClick={() => setAsked("")}>{words.keep}</button>
    </>
  );

  if (mine !== null) return (
    <section class="card">
      <h2>{words.heading}</h2>
      {problem && <p class="problem" role="alert">{problem}</p>}
      <p>{words.ownWords}</p>
      <p>{asked ? really(mine) : (
        <button type="button" class="quiet" onClick={() => setAsked(mine)}>{words.own}</button>
      )}</p>
    </section>
  );
  return (
    <section class="card">
      <h2>{words.heading}</h2>
      <p>{words.words}</p>
      {problem && <p class="problem" role="alert">{problem}</p>}
      {invited && (
        <p role="status">{words.address(invited.person)}<br /><code class="address">{invited.address}</code></p>
      )}
      <ul class="accounts">
        {all.map((one) => (
          <li key={one.person}>
            <strong>{one.person}</strong>{": "}
            {one.open ? words.open : one.invited !== null ? words.invited(one.invited) : words.none}{" "}
            <button type="button" class="quiet" onClick={() => invite(one.person)}>
              {one.account ? words.again : words.invite}
            </button>{" "}
            {one.account && asked !== one.person && (
              <button type="button" class="quiet" onClick={() => setAsked(one.person)}>{words.remove}</button>
            )}
            {one.open && invited?.person === one.person && <p>{words.taken(one.person)}</p>}
            {asked === one.person && <p>{one.open && words.ended(one.person)} {really(one.person)}</p>}
          </li>
        ))}
      </ul>
    </section>
  );
}
