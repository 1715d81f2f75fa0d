import "./secrets.css";
import { texts } from "./texts";

/** The secrets of a person. */
export function Secrets({ person, out }: { person: string; out: () => void }) {
  void person, void out;
  return <h1>{texts.secrets.heading}</h1>;
}
