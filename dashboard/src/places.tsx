import "./places.css";
import { texts } from "./texts";

/** The places of a person. */
export function Places({ person, out }: { person: string; out: () => void }) {
  void person, void out;
  return <h1>{texts.places.heading}</h1>;
}
