// Every text of the page, in one place: to translate the page, write this object in another language, and name that in
// language.ts.

import type { Span } from "./api";
import { ago, date, dateHour, dayName, length, list, number, percent, points, until } from "./locale";

const inPoints = (share: number): string => `${points(share)} ${points(share) === "1" ? "point" : "points"}`;

/** From what is known anyway to what may become known: both ends, and how far they are apart. */
const rise = (from: number, to: number): string =>
  `from ${percent(from)} to at most ${percent(to)}, ${inPoints(to - from)} more`;

const guesses = (from: number, to: number): string =>
  `A stranger who knows your routine guesses ${percent(from)}. If your days go on as learned, they stay at or below `
  + `${percent(to)}.`;

/** Where somebody was, in a sentence; some contexts are no place. */
const where = (context: string): string => ({
  unknown: "somewhere unknown", away: "at none of your places", moving: "on the way",
  other: "at a place you rarely visit",
} as Record<string, string>)[context] ?? `at ${context}`;

/** The window of a secret at any time. */
const span = ({ over, sliding }: Span): string => {
  if (typeof over === "string" && !sliding) return `the ${over}`;
  const days = over === "week" ? 7 : over;
  return sliding ? `any ${days} days in a row` : `each ${days} days`;
};

const plural = (count: number, one: string, many = `${one}s`): string => `${number(count)} ${count === 1 ? one : many}`;

export const texts = {
  title: "discreet",
  skip: "Skip to the content",
  screens: { today: "Today", places: "Places", secrets: "Secrets", applications: "Apps" },
  leave: "Log out",
  person: "Person",
  loading: "Loading…",
  again: "Try again",
  failed: "Cannot reach discreet. Is it running?",

  help: {
    ask: (word: string) => `What is ${word}?`,
    more: (screen: string) => `See ${screen}.`,
    words: {
      limit: {
        title: "a limit", link: "secrets",
        words: "However much apps see, a stranger's guess at a secret stays at or below this, if your days go on as learned. "
          + "You choose how far above what your routine gives away anyway.",
      },
      stranger: {
        title: "the stranger", link: null,
        words: "Somebody who knows your routine as well as discreet does, knows how discreet works, and sees all that every "
          + "app sees together. Whoever knows less can guess no better.",
      },
      update: {
        title: "an update", link: "applications",
        words: "The day is cut into equal parts, and at the end of each apps get one answer for all of it: a place, or nothing. "
          + "Updates come at fixed times, so that their timing says nothing about you.",
      },
      routine: {
        title: "your routine", link: "places",
        words: "How likely each place is at each hour of your week, learned from your history. All limits rest on it; when your "
          + "life changes, learn it again.",
      },
      token: {
        title: "a token", link: null,
        words: "A key for one app or one phone. Whoever has an app's token sees what that app sees, and nothing else; revoke it "
          + "here and it stops working at once.",
      },
      pause: {
        title: "a pause", link: null,
        words: "Days on which apps get nothing, whatever you do. Everybody sees that you paused; because it is announced days "
          + "ahead, they learn nothing about where you are when it starts.",
      },
      view: {
        title: "a view", link: null,
        words: "What one app is shown instead of places, such as “home” and “out”. It is made of what is shared anyway, so "
          + "it can only show less.",
      },
    } as Record<"limit" | "stranger" | "update" | "routine" | "token" | "view" | "pause",
      { title: string; link: "secrets" | "applications" | "places" | null; words: string }>,
  },

  login: {
    heading: "Log in",
    words: "This page shows where you really were. It is for you alone.",
    password: "Password",
    enter: "Log in",
    firstWords: "Welcome. Copy the token from the terminal, and choose a password of ten letters or more.",
    token: "Token from the terminal",
    chosen: "New password",
    begin: "Set the password",
    name: "Your name, if you have an account of your own",
    invited: "You are invited to look after your own data. Choose a password of ten letters or more: from then on nobody "
      + "else sees here where you really were.",
    accept: "Open my account",
  },

  accounts: {
    heading: "Accounts",
    words: "With an account, a person's data is theirs alone to see and change here; you no longer can. Whoever can read "
      + "this machine's files still sees it.",
    none: "no account, so you see and change their data",
    open: "has an account",
    invited: (until: number) => `invited until ${dateHour(until)}`,
    invite: "Invite",
    again: "Invite again",
    remove: "Remove the account",
    taken: (name: string) => `If this is accepted, the record of where ${name} was is erased: nobody takes over somebody's past.`,
    ended: (name: string) => `The record of where ${name} was is erased. Then you look after ${name}'s data again.`,
    really: "Remove it",
    keep: "Keep it",
    address: (name: string) => `Give this address to ${name}. It works once, for a week:`,
    own: "End my account",
    ownWords: "The record of where you were is erased. Then whoever administers discreet looks after your data again.",
  },

  account: {
    heading: "Password",
    present: "Current password",
    chosen: "New password",
    change: "Change password",
    done: "Password changed. Everybody else is logged out.",
    everywhere: "Log out everywhere",
  },

  health: {
    broken: (part: string) => `Problem with the ${part}:`,
    accept: "The clock is right: continue",
    sources: "Your phone and other sources",
    never: "Nothing has arrived in the last two weeks.",
    heard: (source: string, seconds: number) => `${source}: last message ${ago(seconds)}.`,
    use: (use: string, phone: string | null) => ({
      believed: phone ? " It is the one that counts." : " It counts now, because it moved last.",
      ignored: ` Not used: discreet.toml says that ${phone} counts.`,
    }[use] ?? ""),
    unknown: (phone: string) =>
      `discreet.toml says that ${phone} counts, and nothing of that name was heard in the last two weeks.`,
    quiet: "That is longer than usual. Check its battery, network and settings.",
    refused: (why: string, many: number) => `${plural(many, "message")} ${{
      wrong_key: "could not be decrypted: the phone uses a different key than discreet.toml.",
      no_key: "came encrypted, but discreet.toml has no key.",
      not_encrypted: "came unencrypted, but discreet.toml expects a key.",
      unreadable: "could not be read.",
      unusable: "had no usable position.",
      future: "had a time in the future: the phone's clock is wrong.",
    }[why] ?? why}`,
  },

  status: {
    label: "Status",
    heard: (source: string, seconds: number) => `${source} heard ${ago(seconds)}`,
    quiet: (source: string, seconds: number) => `${source} is quiet: last heard ${ago(seconds)}`,
    counts: (source: string) => `${source} counts`,
    broker: (away: boolean) => (away ? "the broker is away" : "broker connected"),
    unheard: "Nothing heard from your phone yet",
    next: (time: string, seconds: number) => `next update at ${time}${seconds > 0 && seconds < 3600 ? `, ${until(seconds)}` : ""}`,
    roomy: "all secrets well below their limits",
    near: (names: string[]) => `near the limit: ${names.join(", ")}`,
  },

  today: {
    earlier: "Previous day",
    later: "Next day",
    latest: "Latest day",
    live: "Live",
    waiting: "Connecting…",
    stale: (time: string, seconds: number) => `Not connected since ${time} (${ago(seconds)}). What you see may be out of date. `
      + "Trying again…",
    nothing: (time: string) => (time ? `Nothing shared yet; next at ${time}.` : "Nothing shared on this day."),
    running: (time: string) => `Running. First update at ${time}`,
    runningIn: (seconds: number) => until(seconds),
    runningWords: "Until then apps get nothing. You can close this page; discreet goes on by itself.",
    strip: "Where you were, and what apps got",
    stripHelp: "Left and right arrow keys move through the day.",
    true: "you",
    told: "apps",
    silent: "nothing",
    skipped: "nothing, as discreet was off or paused",
    truthGone: "Where you were on this day is no longer kept.",
    notYet: "not yet",
    secretPlace: "secret",
    shown: (hours: number, of: number) => `Shared ${number(hours, 2)} of ${number(of, 2)} hours`,
    slot: (from: string, to: string, truth: string | null, told: string) =>
      `${from} to ${to}: ${truth === null ? "" : `you were ${where(truth)}; `}apps got ${told}.`,
    slotBefore: (from: string, to: string) => `${from} to ${to}: before discreet was started.`,
    slotAhead: (from: string, to: string) => `${from} to ${to}: still to come.`,
    why: {
      lead: (told: string | null, coarser: boolean) =>
        told === null ? "Nothing was shared" : coarser ? `Only ${told} was shared` : `${told} was shared`,
      own: (lead: string, truth: string) => `${lead} because ${truth} is secret.`,
      truth: (lead: string, truth: string, of: string) => `${lead} because ${truth} would have given away ${of}.`,
      told: (lead: string, truth: string, told: string, of: string) =>
        `${lead}. If ${truth} were always shown, ${told} would give away ${of}.`,
      chance: (truth: string, share: number, by: string, of: string) =>
        `By chance: at such times ${truth} is shared ${share < 0.01 ? "almost never" : `${percent(share)} of the time`}. `
        + `If it always were, ${by} would give away ${of}.`,
      gap: "a gap",
      of: (secret: string, time: string, day: string, others: number) =>
        `${secret}${time && ` at ${time}`}${day && ` on ${day}`}${others ? ` and ${plural(others, "other secret")}` : ""}`,
      it: "that",
      impossible: (lead: string) => `${lead} because it never happened before in your routine.`,
      nothing: (lead: string) => `${lead} because there was no time to find something better; no secret was at risk.`,
      limit: (secret: string, belief: number, limit: number) => percent(belief) === percent(limit)
        ? `A stranger's guess at ${secret} would have gone just above its limit of ${percent(limit)}.`
        : `A stranger's guess at ${secret} would have gone to ${percent(belief)}; its limit is ${percent(limit)}.`,
    },
    weekDay: (day: string, share: number) => `${day}: ${percent(share)} shared`,
    weekEmpty: (day: string) => `${day}: nothing shared`,
    calendar: "Calendar",
    calendarHelp:
      "Arrow keys move by day, Page up and Page down by month. Enter opens a day, Escape closes the calendar.",
    earlierMonth: "Previous month",
    laterMonth: "Next month",
    close: "Close",
    less: "little shared",
    more: "much shared",
    beliefs: "What a stranger could guess",
    beliefsWords:
      "This stranger knows your routine, knows how discreet works, and sees everything that apps see.",
    beliefsLimit: "They stay below the limit as long as your days go on as learned.",
    beliefsUnpromised: "They may go above the limit.",
    habitsAsked: "discreet checks every night whether your days still match your routine.",
    habitsHold: "Your recent days match your routine.",
    habitsUnknown: "It is too early to say whether your recent days match your routine.",
    habitsDrifted: "Your days no longer match your routine, so the limits may not hold.",
    reserveShort: "On too many recent days, somebody who learned your routine elsewhere could find out more than the "
      + "limit. What is reserved for that is no longer enough.",
    figures: "Figures",
    noBeliefs: "For this day there are no guesses to show: they are kept for the last days only.",
    noSecrets: "You have no secrets yet.",
    prior: "knowing only your routine",
    belief: "after seeing what apps see",
    limit: "limit",
    ahead: "still to come",
    each: (name: string, from: number, to: number) => `${name}, at any moment: ${rise(from, to)}`,
    any: (name: string, over: Span, from: number, to: number) =>
      `${name}, at some time of ${span(over)}: ${rise(from, to)}`,
    at: (time: string, belief: number, prior: number, limit: number) =>
      `${time}: a stranger guesses ${percent(belief)}. Knowing only your routine: ${percent(prior)}. `
      + `Limit: ${percent(limit)}.`,
    until: (time: string, belief: number, prior: number, limit: number) =>
      `By ${time} a stranger guesses ${percent(belief)}. Knowing only your routine: ${percent(prior)}. `
      + `Limit: ${percent(limit)}.`,
    byNow: (belief: number) => `By now: ${percent(belief)}.`,
    notHeld: (time: string) => `${time}: not secret at this time.`,
    notTold: (time: string) => `${time}: still to come.`,
    notYetOn: (time: string) => `${time}: before discreet was started.`,
    nearest: (time: string) => `Closest to the limit at ${time}.`,
    table: "Show as a table",
    time: "Time",
  },

  time: {
    week: "This week",
    byWeek: "Week",
    byMonth: "Month",
    share: (share: number) => `${percent(share)} shared`,
    zoom: "Hours shown",
    closer: "Show fewer hours, larger",
    wider: "Show more hours",
    earlier: "Earlier hours",
    later: "Later hours",
    wholeDay: "all day",
    hours: (from: string, to: string) => `${from} to ${to}`,
    past: {
      heading: "The weeks you imported",
      words: "What apps would have seen of them, had discreet been running. Nobody has seen any of this. Chance decides, "
        + "so real days may differ, and your routine was learned from these very weeks.",
      work: "Working out what apps would have seen…",
      nothing: "Nothing that you imported is kept here.",
      none: "There are no whole days in the last weeks that you imported.",
      week: (first: string) => `Week of ${date(Date.parse(first) / 1000)}`,
      earlier: "Previous week",
      later: "Next week",
    },
  },

  pause: {
    heading: "Pause",
    announce: "Announce a pause",
    words: (earliest: string) => `Apps get nothing for whole days. A pause can start on ${earliest} at the earliest, so that `
      + "its beginning says nothing about today.",
    first: "First day",
    last: "Last day",
    go: "Announce it",
    now: (last: string) => `Paused: apps get nothing until the end of ${last}.`,
    coming: (first: string, last: string) => first === last ? `Apps will get nothing on ${dayName(first)}.`
      : `Apps will get nothing from ${dayName(first)} to ${dayName(last)}.`,
    back: "Take it back",
    backNamed: (first: string) => `Take it back: the pause of ${first}`,
  },

  export: {
    heading: "Save as a file",
    words: "The file shows where you really were. Your browser makes it; nothing is sent.",
    day: "This day:",
    month: "This month:",
    formats: { csv: "CSV", json: "JSON", png: "Picture" },
    as: (when: string, format: string) => `Save ${when} as ${format}`,
  },

  map: {
    label: "Map of your places, north up",
    help: "Drag the map or use the arrow keys; plus and minus zoom, 0 shows everything. The list has the same places.",
    drawHelp:
      "Arrow keys move the map under the cross, Enter sets a point there, Backspace removes the last one. You can also "
      + "type the numbers next to the map.",
    closer: "Zoom in",
    wider: "Zoom out",
    whole: "Show all places",
    north: "N",
  },

  places: {
    heading: "Places",
    words: "The map is drawn here from your own data; nothing is fetched from the internet.",
    list: "Your places",
    secret: "secret",
    waits: "not in force yet",
    lies: (name: string) => `in ${name}`,
    hours: (hours: number, days: number) =>
      hours < 0.05 ? `no time in the last ${days} days` : `${number(hours, 1)} h in the last ${days} days`,
    facts: (radius: number | null, area: number) =>
      radius === null ? `an outline of ${number(area)} m²` : `a circle with a radius of ${length(radius)}`,
    part: (which: number, of: number) => `Part ${which} of ${of}`,
    close: "Close",
    noFile: "This map cannot be changed here, because discreet.toml names no map file for this person.",

    drawCircle: "Add a circle",
    drawPolygon: "Add an outline",
    drawWords: {
      circle: "Tap the middle of the place. Drag the middle to move it and the edge to resize it, or type numbers.",
      polygon: "Tap each corner. Drag corners to move them and the small dots to add more, or type numbers.",
    },
    newPlace: "New place",
    redrawn: (name: string) => `Change the shape of ${name}`,
    name: "Name",
    nameWords: "Use the name of another place to make this a part of it.",
    latitude: "Latitude",
    longitude: "Longitude",
    radius: "Radius in metres",
    corners: "Corners: latitude, longitude; one per line",
    holds: (names: string[]) => `Contains ${list(names, "conjunction")}.`,
    save: "Save",
    cancel: "Cancel",
    effect: "A new shape takes effect at the next update, and apps see its circle. A new name first has to be learned.",

    redraw: "Change the shape",
    redrawPart: (name: string, which: number) => `Change the shape: ${name}, part ${which}`,
    rename: "Rename",
    newName: "New name",
    merge: "Merge with",
    mergeWords: "Both then share one name.",
    mergeDo: "Merge",
    around: "Draw a larger place around it",
    aroundWords: "A place inside another belongs to it: a room in a building, a building on a campus.",
    remove: "Remove",
    removePart: (name: string, which: number) => `Remove: ${name}, part ${which}`,
    sure: (name: string) => `Remove ${name} from the map?`,
    yes: "Yes, remove",
    no: "Keep it",
    secretWords: "This place is secret. You can make it larger; for any other change, drop the secret first.",

    saved: "Saved. In force from the next update.",
    savedWaits: "Saved, but not in force yet.",
    waitingByHand: "With commands instead",
    waitingLearn: "Learn your routine with this map, from the readings that setup or import saved:",
    waitingSettings: (person: string) => `Enter both files in discreet.toml, under [people.${person}]:`,
    waitingStart:
      "Restart discreet. It says from when the new routine counts; until then, a place with a new name is shared as "
      + "“other”.",

    unexplained: "Stops outside your places",
    share: (share: number, days: number) => `${percent(share)} of your time in the last ${days} days was at none of your places.`,
    noReadings: (days: number) => `There are no readings from the last ${days} days.`,
    nothingLeft: "In the last days you were always at one of your places.",
    show: "Show these positions as dots",
    stays: (which: number) => `Stop ${which}`,
    stay: (hours: number, days: number) => `${number(hours, 1)} hours on ${plural(days, "day")}`,
    drawIt: "Add as a place",
    drawStay: (which: number) => `Add as a place: stop ${which}`,
  },

  routine: {
    heading: "Your routine",
    words: (until: string | null) => `discreet knows how you usually spend your week${until
      ? `, learned from days up to ${date(Date.parse(until) / 1000)}` : ""}. The limits rest on it. Learn it again when `
      + "your life changes: a move, a new job, a new school.",
    waiting: "Not in force yet",
    waitingWords: "discreet does not know yet how often you go to a place with a new name. Learn your routine with this "
      + "map: then you see what would change, and when, before anything does.",
    stale: "You changed the map since the routine was learned. Learn it again.",
    from: "Learn from",
    all: (past: boolean) => (past ? "everything: what you imported, and what your phone sent since" : "everything there is"),
    weeks: (weeks: number) => `the last ${weeks} weeks`,
    learn: "Learn my routine again",
    learnMap: "Learn my routine with this map",
    discardMap: "Discard the new map",
    cannot: (why: string) => `It cannot be learned here: ${why}.`,
    same: "This is the same routine as now. There is nothing to change.",
    close: "Close",
    found: (days: number, first: string, last: string) =>
      `Learned from ${plural(days, "day")}, ${date(Date.parse(first) / 1000)} to ${date(Date.parse(last) / 1000)}.`,
    fresh: (names: string) => `New for apps: ${names}.`,
    gone: (names: string) => `No longer shared by name: ${names}.`,
    secrets: "What a stranger could guess then",
    guess: (name: string, before: { prior: number; limit: number } | null, after: { prior: number; limit: number } | null) =>
      `${name}: ${after ? `${percent(after.prior)} knowing only your routine, at most ${percent(after.limit)} with apps` : "–"}`
      + `${before ? `; now ${percent(before.prior)} and ${percent(before.limit)}` : ""}.`,
    untrue: "Your recent days do not match this routine, so the limits may not hold. Fewer weeks may fit better.",
    accept: "Start it anyway",
    effect: (from: string) => `If you start it now, it holds from ${dayName(from)}, and your map with it. Until then `
      + "everything stays as it is, and you can undo it.",
    start: (from: string) => `Start on ${dayName(from)}`,
    discard: "Discard",
    coming: (from: string) => `New routine from ${dayName(from)}`,
    comingWords: (from: string) => `Until ${dayName(from)} your present routine and map stay in force. You can undo this `
      + "until then.",
    undo: "Undo",
    again: "Learn it again on the screen Places.",
  },

  secrets: {
    heading: "Secrets",
    words: "What nobody should find out from what apps see. Your routine gives something away already; discreet limits how "
      + "much more apps can add, as long as your days go on as learned.",
    inForce: "In force",
    announced: (date: string) => `From ${dayName(date)}`,
    untilThen: "Until then",
    none: "Nothing is secret: apps see everything.",
    where: (contexts: string[]) => list(contexts, "disjunction"),
    each: "at any moment",
    any: (over: Span) => `at some time of ${span(over)}`,
    allDay: "all day",
    run: (from: string, to: string) => `${from} to ${to}`,
    being: (where: string, when: string) => `Being at ${where} ${when}.`,
    from: guesses,
    most: (prior: number, mean: number, time: string | null) => time === null
      ? `Your routine alone gives away up to ${percent(prior)} on the likeliest day, ${percent(mean)} on average.`
      : `Your routine alone gives away up to ${percent(prior)} (at ${time}), ${percent(mean)} on average.`,
    cap: (cap: number) => `Never above ${percent(cap)}, unless your routine gives away about that much already.`,
    change: "Change",
    changeNamed: (name: string) => `Change ${name}`,
    drop: "Drop",
    dropNamed: (name: string) => `Drop ${name}`,
    keep: "Keep it",
    keepNamed: (name: string) => `Keep ${name}`,
    marks: { new: "new", changed: "changed", dropped: "dropped" } as Record<string, string>,
    add: "Add a secret",
    editing: (name: string) => (name ? `The secret “${name}”` : "New secret"),
    name: "Name (only you see it)",
    contexts: "Places",
    hours: "Hours",
    hoursHelp: "Drag over the hours, or use the arrow keys and the space bar; hold shift to select several. The hours are "
      + "the same on every day of the week.",
    bars: (most: number) => `The bars show how likely it is by your routine alone, at most ${percent(most)}.`,
    hour: (from: string, to: string, prior: number | undefined) =>
      `${from} to ${to}${prior === undefined ? "" : `, ${percent(prior)} by your routine`}`,
    wholeDay: "All day",
    noHours: "No hours",
    about: "What should stay secret?",
    eachWords: "When I am there: no moment of these hours may become more certain than the limit",
    anyWords: (over: Span) =>
      `That I was there at all ${over.over === "day" ? "on a day, or in a night" : `in ${span(over)}`}: everything apps `
      + "see together stays below the limit",
    delta: "How much more may a stranger find out?",
    points: "points",
    inPoints,
    strength: (gain: number) => gain < 0.03 ? "hardly anything" : gain < 0.08 ? "a little" : gain < 0.16 ? "some"
      : gain < 0.31 ? "much" : "nearly everything",
    never: "Never above this percentage (optional)",
    same: "Nothing would change.",
    done: "Add to the draft",
    cancel: "Cancel",
    draft: "Not saved yet",
    draftWords: (date: string) => `If you save now, this starts on ${dayName(date)}, the night after next. Until then `
      + "your present secrets stay in force. What apps have seen by then cannot be taken back.",
    tells: "Changes start at night, days later, so that the change itself says nothing about today. Somebody who watches "
      + "may notice that more or less is shared from then on.",
    file: "Saving rewrites the policy file, and drops comments you may have written in it.",
    toldBefore: "Apps learned this before it was secret. It cannot be taken back, but it will not get worse:",
    toldOne: (secret: string, date: string, time: string, belief: number) =>
      `${secret}, ${dayName(date)} ${time}: a stranger guesses ${percent(belief)}`,
    preview: "See what it would cost",
    again: "Calculate again",
    previewing: "Calculating…",
    progress: (done: number, total: number) => `${done} of ${total} days`,
    stop: "Stop",
    save: "Save",
    saved: (date: string) => `Saved. In force from ${dayName(date)}, the night after next.`,
    discard: "Discard",
    cost: "What it would cost",
    drawn: (weeks: number) => `Tried on the same ${weeks} weeks, simulated from your routine:`,
    before: "Now",
    after: "With your changes",
    shownTrue: "shared as it was",
    coarse: "shared as a wider area",
    false: "shared as another place",
    silent: "nothing shared",
    worth: "useful to apps",
    difference: (mean: number, half: number) => Math.abs(mean) <= half ? "Apps would see about as much as now."
      : `Apps would see about ${Math.round(100 * Math.abs(mean))} points ${mean < 0 ? "less" : "more"}.`,
    audit: "limits",
    holds: "all kept, if your days go on as learned",
    open: "not all proven to be kept",
    broken: "exceeded",
    worst: "worst case",
    worstWords: (secret: string, from: number, to: number) => `${secret}: ${percent(from)} to ${percent(to)}`,
    nothing: "–",
    week: "Your last days",
    weekWords: "Where you were, what apps got, and what they would have got. It involves chance: another try may differ.",
    noDays: "There is no day yet to try it on.",
    rows: ["you", "apps", "would"],
    tried: (time: string, to: string, truth: string, told: string, would: string) =>
      `${time} to ${to}: you were ${where(truth)}; apps got ${told} and would have got ${would}.`,
    counts: (told: number, would: number) => `Shared ${percent(told)} of the time; it would have been ${percent(would)}.`,
    fixed: "Secrets cannot be changed here:",
  },

  first: {
    add: "Add a person",
    heading: "Set up in five steps",
    steps: ["Password", "History", "Places", "Secrets", "Apps"],
    over: "Start over",
    overSure: "Delete everything entered so far, and start over?",
    yes: "Yes, delete it",
    no: "Keep it",
    cancel: "Cancel",
    absent: "People cannot be added here, because discreet was started without a settings file.",
    work: {
      starting: "Starting…",
      reading: "Reading your files…",
      finding: "Looking for places…",
      learning: "Learning your routine…",
      suggesting: "Looking for what may be private…",
      testing: "Checking your routine against later days…",
      drawing: "Simulating weeks to see what each choice shares…",
      holding: "Trying it on your own weeks…",
      writing: "Saving…",
      trying: "Testing…",
    } as Record<string, string>,

    bring: {
      heading: "Bring your location history",
      words: "What your phone or home has recorded. It stays on this machine.",
      tracker: "Who are you in Home Assistant?",
      trackerNone: "Choose a person or a tracker",
      trackerRead: "Read its history",
      trackerReading: "Reading what Home Assistant has recorded…",
      trackerFollowed: (name: string) => `discreet will follow ${name}.`,
      trackerEmpty: "Home Assistant has recorded nothing of it yet. Add a file from your phone below.",
      more: "Home Assistant keeps ten days unless told otherwise. A file from your phone makes the routine better.",
      name: "Your name",
      zone: "Your time zone",
      drop: "Drop files here",
      choose: "Choose files",
      limit: (mb: string) => `Up to ${mb} altogether.`,
      formats: "Which files can I bring, and where are they?",
      known: [
        "Google Maps on Android: the phone's settings, Location, Location services, Timeline, Export Timeline data",
        "Google Maps on an iPhone: your picture, Settings, Personal content, Export Timeline data",
        "Google Takeout: Location History as JSON, the zip as it is",
        "OwnTracks: the Recorder's .rec files, or its JSON",
        "Home Assistant: home-assistant_v2.db of its configuration folder, or an export of its history",
        "Apple Health, Strava, Garmin: the archive that they let you download",
        "Tracks: GPX, KML, KMZ, TCX, FIT, GeoLife .plt",
        "A table (CSV or Parquet) with timestamp, latitude and longitude, or timestamp and place",
        "Any of these in a zip",
      ],
      changes: "My source reports only changes (Home Assistant)",
      remove: (name: string) => `Remove ${name}`,
      take: "Remove",
      stop: (name: string) => `Cancel ${name}`,
      broken: "The connection was lost.",
      tooLarge: (name: string, mb: string) => `${name} is too large: all files together may have ${mb}.`,
      whose: "These files are from several people. Who are you?",
      go: "Continue",
      as: (size: string, format: string) => `${size}, ${format}`,
    },

    places: {
      heading: "Are these your places?",
      words: "Give them names you know. Two with the same name become one place.",
      found: (readings: string, first: string, last: string) => `${readings} readings from ${first} to ${last}.`,
      leftOut: "What could not be used",
      unexplained: (share: number) => share < 0.005 ? "" : `${percent(share)} of the time you were at none of these places.`,
      name: (number: number) => `Name of place ${number}`,
      drop: "Remove",
      dropNamed: (name: string) => `Remove ${name}`,
      keep: "Put back",
      keepNamed: (name: string) => `Put back ${name}`,
      when: (part: string, from: string, to: string) =>
        `${part === "weekday" ? "weekdays" : part === "weekend" ? "weekends" : "any day"} `
        + `${from === to ? "around the clock" : `${from} to ${to}`}`,
      time: (hours: number, days: number) => `${plural(Math.round(hours), "hour")} on ${plural(days, "day")}`,
      near: (metres: number, name: string) => `${length(metres)} from ${name}`,
      same: "same place as another",
      discard: "Discard my names",
      labels: "Your source names the places itself:",
      zone: (found: string, given: string) =>
        `Most of your nights were in the time zone ${found}, but you chose ${given}.`,
      zoneUse: (found: string) => `Use ${found}`,
      changesOnly: "Your source seems to report only changes. Go back to step 2 and tick that, or most of your time is "
        + "missing.",
      go: "Learn my routine",
      map: "The places that were found",
    },

    secrets: {
      heading: "What is private?",
      words: "Suggestions from names and times. Untick what isn't private.",
      few: (days: number) => `${plural(days, "day")} is little to learn a routine from. Bring more when you can.`,
      unknown: (share: number) =>
        `Nothing is known for ${percent(share)} of the time. If your source reports only changes, say so in step 2.`,
      rises: guesses,
      sure: (name: string, hours: string) => hours
        ? `${name && `${name}: `}At these hours anybody who knows your routine is sure already, so nothing can be hidden: ${hours}.`
        : `${name && `${name}: `}Anybody who knows your routine is sure already. Making this secret hides nothing.`,
      doubles: "Stricter for rare visits: what apps see at most doubles anybody's odds",
      none: "No suggestions. Choose from your places:",
      others: "Something else",
      go: "See what it costs",
      again: "Choose other secrets",
      chosen: (names: string) => `Secret: ${names}`,
      cost: "How strict?",
      costWords: "Stricter means that a stranger finds out less, and that apps see less. Sensitive topics get half the "
        + "allowance.",
      strict: { "0.02": "Very strict", "0.05": "Strict", "0.1": "Usual", "0.2": "Mild" } as Record<string, string>,
      points: (delta: number) => `at most ${inPoints(delta)} more`,
      shown: (mean: number, give: number) => give > 0.25 ? `apps see roughly ${percent(mean)} of your day`
        : `apps see ${percent(mean)} of your day, give or take ${Math.max(1, Math.round(give * 100))}`,
      falsely: (share: number) => `${percent(share)} shown as another place`,
      widely: (share: number) => `${percent(share)} as a wider area`,
      waiting: "calculating…",
      instead: "What may apps get?",
      vocabularies: {
        suppress: "The truth or nothing",
        deceive: "The truth or another plausible place",
        generalize: "The truth or a wider area",
      } as Record<string, string>,
      share: (share: number) => `${percent(share)} of your day`,
      prices: {
        suppress: () => "What apps see is always true. At the other times they see nothing.",
        deceive: (share: number) => `What apps see may be false; ${percent(share)} of the time it was.`,
        generalize: (share: number) => `Sometimes apps see only the area; ${percent(share)} of the time.`,
      } as Record<string, (share: number) => string>,
      picture: (name: string) => `${name}: an example day`,
      limit: (name: string, prior: number, limit: number) => `${name}: ${rise(prior, limit)}`,
      day: (day: string) => `${day}, as apps might have seen it`,
      truth: "Does your routine hold?",
      true: "Your recent days match your routine.",
      unsure: "There are too few days to check whether your routine holds. The promise rests on it.",
      untrue: "Your recent days do not match your routine, and the promise rests on it.",
      figures: "Figures",
      accept: "Continue anyway",
      later: "Later days",
      laterWords: "A routine is never quite right. Somebody who learned yours elsewhere may find out more than the limit "
        + "on some days. Part of the limit can be kept back for that. Trying it on your own weeks takes a minute.",
      laterTry: "See what it costs to hold the limit on at least 9 of 10 days",
      laterKeep: "Hold it on at least 9 of 10 days",
      laterCost: (shown: number, instead: number) =>
        `Apps see ${percent(shown)} of your day instead of ${percent(instead)}.`,
      laterBeyond: (beyond: number, without: number) =>
        `On your own weeks ${percent(beyond)} of the days were over the limit instead of ${percent(without)}.`,
      laterSure: (weeks: number) => `The next week keeps this on average, if it is like the ${weeks} that were judged.`,
      laterGuess: (weeks: number, enough: number) =>
        `This is an estimate from ${plural(weeks, "week")}; ${enough} weeks of history would give a guarantee.`,
      laterNone: "Nothing short of silence held it on your own weeks. Bring more weeks, or go on without.",
      keep: "Continue",
    },

    finish: {
      heading: "Who may see it?",
      words: "Apps see what discreet shares, never where you really are. Name the first app; you can add more later.",
      application: "Name of the app",
      applicationHint: "such as Home Assistant, or family",
      phone: "My phone will send my location",
      phoneName: "Name of the phone",
      go: "Start",
      starting: "Starting…",
      done: "Running.",
      doneAt: (time: string) => `Running. First update at ${time}`,
      doneWords: "Copy the tokens now: they are shown only once.",
      reads: "For the app",
      writes: "For your phone",
      today: "Continue to your page",
    },
  },

  token: {
    of: (name: string) => `Token for ${name}`,
    once: "Copy it now: it is shown only once.",
    copy: "Copy",
    copied: "Copied",
    done: "I have copied it",
    address: "Address",
    secret: "Token",
    howApplication: "The app asks this address, and sends the token in the header “Authorization: Bearer”.",
    howSource: "In OwnTracks choose mode HTTP, this address, and the token as the password. Or scan the code.",
    test: "Send a test",
    tested: (status: number) => `It works (answer ${status}). This is what the app gets:`,
    testedNothing: "It works. There is nothing to get yet: the first update is still to come.",
    refused: (words: string) => `It does not work: ${words}`,
    waiting: "Waiting for the phone's first message…",
    arrived: (seconds: number) => `The phone was heard ${ago(seconds)}. It works.`,
    qr: (name: string) => `A code for a phone: ${name}`,
    qrSource: "Scan with the phone: OwnTracks then sends here by itself.",
    qrApplication: "Scan with any phone to see exactly what this app gets.",
    qrLoopback:
      "A phone cannot reach this address. Open this page by the name or number that your phone uses, and make the token "
      + "there.",
    config: "Open in OwnTracks on this phone",
    link: "Open what this app gets",
  },

  applications: {
    heading: "Apps and phones",
    words: "Apps see what discreet shares. Phones send where you are. None of them can see where you really were.",
    none: "There is no token yet.",
    name: "Name",
    purpose: "Access",
    purposes: { application: "sees what is shared", source: "sends location", owner: "everything" } as
      Record<string, string>,
    who: "Person",
    everybody: "everybody",
    view: "View",
    whole: "everything that is shared",
    nowOnly: "current place only",
    made: "Since",
    used: "Last used",
    never: "never",
    ended: "Ended",
    revoke: "Revoke",
    revokeNamed: (name: string) => `Revoke ${name}`,
    sure: (name: string) => `Revoke ${name}? It stops working at once, and this cannot be undone.`,
    yes: "Yes, revoke",
    no: "Keep it",
    add: "New token",
    addApplication: "For an app that sees where you are",
    addSource: "For a phone that sends where you are",
    make: "Create",
    since: (seconds: number) => date(seconds),
    usedAt: (seconds: number) => dateHour(seconds),
    shows: (groups: string[], rest: string | null) => [...groups, ...(rest === null ? [] : [rest])].join(", "),

    sees: (name: string, place: string, since: string) => `${name} sees: ${place} since ${since}`,
    seesNothing: (name: string, since: string) => `${name} has seen nothing since ${since}`,
    seesNotYet: (name: string) => `${name} sees nothing yet`,
    apart: (places: string[]) => places.length > 1
      ? `For this app you could be at ${list(places, "disjunction")}: it cannot tell which.` : "",
    gap: "A gap looks the same whatever it hides.",
    seen: (name: string) => `What ${name} saw lately`,
    where: (name: string) => `Where ${name} sees you`,
    gets: "Details",
    getsNamed: (name: string) => `Details: ${name}`,
    getsClose: "Close",

    views: "Views",
    viewsWords: "A view shows an app less: groups of places instead of places, or nothing.",
    noViews: "There is no view yet; every app sees everything that is shared.",
    viewFile: (file: string) => `Kept in ${file}; changes count from the next update.`,
    noFile: "Views cannot be kept, because discreet was started without a discreet.toml.",
    viewRest: (rest: string) => `everything else: ${rest}`,
    viewSilent: "everything else: nothing",
    viewGroup: (group: string, inside: string[]) => `${group}: ${inside.join(", ")}`,
    viewEdit: "Change",
    viewEditNamed: (name: string) => `Change: ${name}`,
    viewRemove: "Remove",
    viewRemoveNamed: (name: string) => `Remove: ${name}`,
    viewAdd: "New view",
    viewName: "Name of the view",
    viewTold: "shown as",
    viewToldOf: (context: string) => `${context} is shown as`,
    viewToldWords: "Places with the same word cannot be told apart. Leave a field empty to show it as everything else.",
    viewElse: "Everything else is shown as (empty: nothing)",
    viewSave: "Save the view",
    viewEmpty: "Give at least one place a word.",
  },

  gets: {
    heading: (person: string) => `What this app gets about ${person}`,
    thisApp: "This app",
    bytes: "Every byte of it",
    ask: "What an app gets",
    askWords: "Enter the app's token. You will see exactly what the app sees, and nothing else.",
    token: "Token",
    look: "Show",
    words: (slots: number) =>
      `The last ${number(slots)} updates, exactly as the app gets them. Positions are those of a place, not of a phone, and `
      + "“nothing” looks the same whatever it hides.",
    nothing: "Nothing has been shared yet.",
    nowOnly: "This token is for the current place only: it has no history.",
    whole: "View: everything that is shared.",
    view: (name: string) => `View: “${name}”.`,
    groups: (groups: [string, string[]][], rest: string | null) =>
      `View: ${groups.map(([name, inside]) => `“${name}” for ${inside.join(", ")}`).join("; ")}; everything else is `
      + `${rest === null ? "nothing" : `“${rest}”`}.`,
    again: "Refresh",
  },
};
