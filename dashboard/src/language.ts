// The language of the texts. Dates and numbers follow it, as the reader's own country writes it where they speak it.

const LANGUAGE = "en";

export const tag: string = navigator.languages.find((one) => one.split("-")[0] === LANGUAGE) ?? "en-GB";
