// Every text of the page, in one place: to translate the page, write this object in another language.

import { apart, date, percent } from "./locale";

export const texts = {
  title: "discreet",
  skip: "Go to the content",
  screens: { today: "Today", places: "Places", secrets: "Secrets", applications: "Applications" },
  leave: "Log out",
  person: "Person",
  loading: "Loading…",
  again: "Try again",
  failed: "The gateway cannot be reached.",

  login: {
    heading: "Log in",
    words: "This page shows what was true. It is for the owner alone.",
    password: "Password",
    enter: "Log in",
    firstWords:
      "Nobody owns this gateway yet. Its terminal shows a token that works once. Choose a password: ten letters or more.",
    token: "Token from the terminal",
    chosen: "New password",
    begin: "Set the password",
  },

  today: {
    earlier: "The day before",
    later: "The day after",
    latest: "Latest day",
    live: "Live",
    waiting: "Reconnecting…",
    nothing: "Nothing was told on this day.",
    strip: "What was true, and what applications were told",
    stripHelp: "Left and right arrow keys go from slot to slot.",
    true: "true",
    told: "told",
    silent: "silence",
    skipped: "off",
    notKept: "no longer kept",
    truthGone: "What was true on this day is no longer kept.",
    notYet: "not yet",
    secretPlace: "secret",
    shown: (told: number, of: number) => `${told} of ${of} slots were shown`,
    shownShare: (share: number) => `${percent(share)} shown`,
    slot: (from: string, to: string, truth: string, told: string) =>
      `${from} to ${to}: true is ${truth}, applications were told ${told}.`,
    why: {
      because: (told: string | null, coarser: boolean) =>
        told === null ? "Silent because" : coarser ? `Only ${told} was told because` : `${told} was told because`,
      own: (because: string, truth: string) => `${because} ${truth} is secret itself.`,
      truth: (because: string, truth: string, of: string) => `${because} showing ${truth} would have told of ${of}.`,
      told: (because: string, truth: string, told: string, of: string) =>
        `${because}, were ${truth} shown, ${told} would have told of ${of}.`,
      chance: (truth: string, share: number, by: string, of: string) =>
        `By chance: ${truth} is shown in ${share < 0.001 ? `less than ${percent(0.001)}` : percent(share)} of such ` +
        `slots. Were it always shown, ${by} would tell of ${of}.`,
      of: (secret: string, time: string, day: string, others: number, belief: number, limit: number) => {
        const [risen, most] = apart(belief, limit);
        const when = (time && ` at ${time}`) + (day && ` on ${day}`);
        return `${secret}${when} (${risen}, limit ${most})${others ? `, and of ${others} more` : ""}`;
      },
      it: "that",
      impossible: (because: string) => `${because} your habits have no place for it.`,
      nothing: (because: string) => `${because} no better rule was found in time; no secret forbade more.`,
    },
    week: "The week",
    weekDay: (day: string, shown: number, of: number) => `${day}: ${shown} of ${of} slots shown`,
    weekEmpty: (day: string) => `${day}: nothing told`,
    weekShown: (share: number) => `Over the week ${percent(share)} of what was decided was shown.`,
    calendar: "Calendar",
    calendarHelp:
      "Arrow keys go from day to day, Page up and Page down from month to month, Enter opens a day, Escape closes.",
    earlierMonth: "The month before",
    laterMonth: "The month after",
    less: "little shown",
    more: "much shown",
    beliefs: "What an observer may believe",
    beliefsWords:
      "Somebody who knows your habits, how this gateway decides, and everything that it told. Never above the limit.",
    noBeliefs: "Beliefs are kept for the last days, and from the last change of habits or secrets on.",
    noSecrets: "No secret is declared.",
    prior: "from habits alone",
    belief: "by what was told",
    limit: "limit",
    ahead: "still to come",
    each: (name: string, delta: number) => `${name}, at each slot: at most ${percent(delta)} more than habits tell`,
    any: (name: string, delta: number) => `${name}, at any time of the day: at most ${percent(delta)} more`,
    at: (time: string, belief: number, prior: number, limit: number) =>
      `${time}: belief ${percent(belief)}, from habits alone ${percent(prior)}, limit ${percent(limit)}.`,
    until: (time: string, belief: number, prior: number, limit: number) =>
      `By what was told until ${time}: belief ${percent(belief)}, from habits alone ${percent(prior)}, ` +
      `limit ${percent(limit)}.`,
    byNow: (belief: number) => `By all that was told: ${percent(belief)}.`,
    notHeld: (time: string) => `${time}: not a secret at this time.`,
    notTold: (time: string) => `${time}: not told yet.`,
    nearest: (time: string) => `Closest to the limit at ${time}.`,
    table: "As a table",
    time: "Time",
  },

  places: {
    heading: "Places",
  },

  secrets: {
    heading: "Secrets",
  },

  applications: {
    heading: "Applications and sources",
    words: "Who may read what was told, and who may write. Nobody here can read what was true.",
    none: "There is no token yet.",
    name: "Name",
    purpose: "May",
    purposes: { application: "read", source: "write", owner: "own" } as Record<string, string>,
    who: "Whom",
    everybody: "everybody",
    view: "View",
    whole: "all that is told",
    nowOnly: "the present only",
    made: "Since",
    used: "Last used",
    never: "never",
    ended: "Ended",
    revoke: "Revoke",
    revokeNamed: (name: string) => `Revoke ${name}`,
    sure: (name: string) => `Revoke ${name}? Its streams close at once, and it cannot be undone.`,
    yes: "Yes, revoke",
    no: "Keep it",
    add: "Make a token",
    addApplication: "An application that reads",
    addSource: "A source that writes, such as a phone",
    make: "Make it",
    secret: (name: string) => `The token of ${name}`,
    once: "Copy it now: it is shown this once. It is sent as Authorization: Bearer, or as OwnTracks' password.",
    copy: "Copy",
    copied: "Copied",
    done: "I have it",
    since: (seconds: number) => date(seconds),
  },
};
