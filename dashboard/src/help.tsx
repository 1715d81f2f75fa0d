import { texts } from "./texts";

export type Word = keyof typeof texts.help.words;

/** What a word means, where it is needed: two sentences, and where one sets it. Opened by a press or by keys. */
export function Help({ word }: { word: Word }) {
  const { title, words, link } = texts.help.words[word];
  return (
    <details class="help">
      <summary aria-label={texts.help.ask(title)}>?</summary>
      <p>{words}{link && <> <a href={`#${link}`}>{texts.help.more(texts.screens[link])}</a></>}</p>
    </details>
  );
}
