import "./applications.css";
import { useEffect, useRef, useState } from "preact/hooks";
import { api, applications, whole } from "./api";
import { Qr } from "./code";
import { since } from "./locale";
import { useNow } from "./now";
import { texts } from "./texts";

/** A token that was just made: its secret is shown this once. */
export interface Made { token: string; name: string; secret: string; purpose: string; person: string }

const AGAIN = 3000; // milliseconds until a phone is looked for again

/** All that somebody needs to use a token: the address, the secret, a code for a phone, and a test. */
export function TokenCard({ made, title, done }: { made: Made; title?: string; done?: () => void }) {
  const words = texts.token;
  const field = useRef<HTMLInputElement>(null);
  const [copied, setCopied] = useState(false);
  const source = made.purpose === "source";
  const address = whole(source ? "pub" : `v1/people/${encodeURIComponent(made.person)}/now`);
  const copy = async () => {
    field.current?.select();
    await navigator.clipboard?.writeText(made.secret).then(() => setCopied(true), () => undefined);
  };
  return (
    <section class="card once" aria-label={words.of(made.name)}>
      <h2>{title ? `${title}: ${made.name}` : words.of(made.name)}</h2>
      <p>{source ? words.howSource : words.howApplication} {words.once}</p>
      <dl><div><dt>{words.address}</dt><dd><code>{address}</code></dd></div></dl>
      <label>{words.secret}
        <input ref={field} readOnly value={made.secret} aria-label={words.of(made.name)}
          onFocus={(event) => event.currentTarget.select()} /></label>
      <p class="acts"><button type="button" onClick={copy}>{copied ? words.copied : words.copy}</button>
        {done && <button type="button" class="quiet" onClick={done}>{words.done}</button>}</p>
      {source ? <Heard made={made} /> : <Tested address={address} secret={made.secret} />}
      <Scanned made={made} address={address} />
    </section>
  );
}

/** What an application would get now, asked for by its own token. */
function Tested({ address, secret }: { address: string; secret: string }) {
  const words = texts.token;
  const [said, setSaid] = useState<{ words: string; body?: string } | null>(null);
  const send = () => applications.now(address, secret).then(
    ({ status, body }) => setSaid(status === 200 ? { words: words.tested(status), body } : { words: words.testedNothing }),
    (error: Error) => setSaid({ words: words.refused(error.message) }),
  );
  return (
    <div class="tested">
      <button type="button" class="quiet" onClick={send}>{words.test}</button>
      <div role="status">{said && <p>{said.words}</p>}{said?.body && <pre tabIndex={0}>{said.body}</pre>}</div>
    </div>
  );
}

/** Whether the phone was heard yet: a made-up reading as a test would be one of the person's own. */
function Heard({ made }: { made: Made }) {
  const words = texts.token;
  const [heard, setHeard] = useState<string | null>(null);
  useNow();
  useEffect(() => {
    const look = () => api.sources(made.person).then(
      ({ sources }) => setHeard(sources.find((one) => one.source.split("/")[0] === made.name)?.heard ?? null),
      () => undefined);
    void look();
    const timer = setInterval(look, AGAIN);
    return () => clearInterval(timer);
  }, [made]);
  return <p role="status" class={heard ? "said" : "quiet"}>{heard ? words.arrived(since(heard)) : words.waiting}</p>;
}

/** The same for a phone: OwnTracks' own link for a source, the page of what it gets for an application. */
function Scanned({ made, address }: { made: Made; address: string }) {
  const words = texts.token;
  const source = made.purpose === "source";
  const link = source ? owntracks(address, made) : whole(`page#gets=${made.secret}`);
  const here = /^(localhost|127\.|\[::1\])/.test(location.hostname);
  return (
    <div class="scanned">
      <Qr text={link} label={words.qr(made.name)} />
      <div>
        <p>{source ? words.qrSource : words.qrApplication}</p>
        {here && <p class="quiet">{words.qrLoopback}</p>}
        <p><a href={link} {...(source ? {} : { target: "_blank", rel: "noreferrer" })}>
          {source ? words.config : words.link}</a></p>
      </div>
    </div>
  );
}

/** A configuration that the app takes from a link (its "URL config"): mode 3 is HTTP, and any user name will do. */
function owntracks(url: string, made: Made): string {
  const wanted = { _type: "configuration", mode: 3, url, auth: true, username: made.person, password: made.secret };
  const bytes = new TextEncoder().encode(JSON.stringify(wanted));
  return `owntracks:///config?inline=${encodeURIComponent(btoa(String.fromCharCode(...bytes)))}`;
}
