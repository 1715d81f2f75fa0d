// Every text of the page, in one place: to translate the page, write this object in another language.

import { apart, date, dateHour, dayName, length, list, number, percent, points } from "./locale";

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
        told === null ? "Silent because" : coarser ? `Only ${told} was told because` : `${told} was told instead because`,
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
    calendarHelp: "Arrow keys go from day to day, Page up and Page down from month to month, Enter opens a day, Escape closes.",
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

  map: {
    label: "Map of places, north up",
    help: "Drag it, or use the arrow keys; plus and minus zoom, 0 shows all. Places are also listed beside it.",
    drawHelp:
      "Arrow keys move the map below the cross, Enter puts a point there, Backspace takes the last one back. "
      + "The same can be typed as numbers beside it.",
    closer: "Closer",
    wider: "Wider",
    whole: "Show all places",
    north: "N",
  },

  places: {
    heading: "Places",
    words: "Where your readings get their names. This map is drawn here; nobody is asked for it.",
    list: "Your places",
    secret: "secret",
    waits: "not in force yet",
    lies: (name: string) => `in ${name}`,
    hours: (hours: number, days: number) => hours < 0.05 ? `no time in ${days} days` : `${number(hours, 1)} h in ${days} days`,
    facts: (radius: number | null, area: number) =>
      radius === null ? `a polygon of ${number(area)} m²` : `a circle of ${length(radius)} around its middle`,
    part: (which: number, of: number) => `Part ${which} of ${of}`,
    close: "Close",
    noFile: "This map cannot be changed here: discreet.toml names no file of places for this person.",

    drawCircle: "Draw a circle",
    drawPolygon: "Draw a polygon",
    drawWords: {
      circle: "Press where its middle is. Drag the middle to move it and the rim to make it larger; or type numbers.",
      polygon: "Press at each corner. Drag corners to move them and the small dots for more; or type numbers.",
    },
    newPlace: "A new place",
    redrawn: (name: string) => `Draw ${name} anew`,
    name: "Name",
    nameWords: "A name that another place has makes this a part of it.",
    latitude: "Latitude",
    longitude: "Longitude",
    radius: "Radius, in metres",
    corners: "Corners: latitude, longitude; one a line",
    holds: (names: string[]) => `It holds ${names.join(", ")}.`,
    save: "Save",
    cancel: "Cancel",
    effect:
      "Another shape is in force from the slot on that is under way, and applications are told its circle. A new name "
      + "waits until habits are learned with it.",

    redraw: "Draw anew",
    redrawPart: (name: string, which: number) => `Draw anew: ${name}, part ${which}`,
    rename: "Rename",
    newName: "New name",
    merge: "Make it one with",
    mergeWords: "Both then have one name.",
    mergeDo: "Merge",
    around: "Draw a place around it",
    aroundWords: "A place lies in another if all of it is inside: rooms in buildings, buildings on a campus.",
    remove: "Remove",
    removePart: (name: string, which: number) => `Remove: ${name}, part ${which}`,
    sure: (name: string) => `Remove ${name} from the map?`,
    yes: "Yes, remove",
    no: "Keep it",
    secretWords: "It is secret. It can be drawn larger; for all else take the secret back first.",

    saved: "Saved. In force from the slot on that is under way.",
    savedWaits: "Saved, and not in force yet.",
    waiting: "Drawn, and not in force yet",
    waitingWords:
      "Habits know places by their names. Until they are learned with this map, the map of before is in force, and "
      + "nothing that is told changes. What it takes, in the folder of discreet.toml:",
    waitingLearn: "Learn habits with this map, from the file of readings that discreet setup or discreet import made:",
    waitingSettings: (person: string) => `Name both files in discreet.toml, below [people.${person}]:`,
    waitingStart:
      "Start the gateway anew. The new habits are in force from the first cut on at which that breaks no limit, and it "
      + "says when; until then a place with a new name is told as other.",
    discard: "Let go of what is drawn",

    unexplained: "What no place explains",
    share: (share: number, days: number) => `${percent(share)} of the known time of the last ${days} days is in no place.`,
    noReadings: (days: number) => `There are no readings of the last ${days} days.`,
    nothingLeft: "Every position of the last days is in a place.",
    show: "Show these positions as dots",
    stays: (which: number) => `Stay ${which}`,
    stay: (hours: number, days: number) => `${number(hours, 1)} h, on ${days} days`,
    drawIt: "Draw it",
    drawStay: (which: number) => `Draw it: stay ${which}`,
  },

  secrets: {
    heading: "Secrets",
    words: "What nobody may find out from what applications are told. Habits tell something already; what is told may "
      + "raise that by so much, and no more.",
    inForce: "In force",
    announced: (date: string) => `From ${dayName(date)} on`,
    untilThen: "Until then",
    none: "Nothing is secret: everything is told as it is.",
    where: (contexts: string[]) => list(contexts, "disjunction"),
    each: "at each time",
    any: "at some time",
    allDay: "all day",
    run: (from: string, to: string) => `${from} to ${to}`,
    being: (where: string, when: string) => `Being at ${where}, ${when}.`,
    from: (from: number, to: number) => `Belief may rise from ${percent(from)} to at most ${percent(to)}.`,
    most: (prior: number, mean: number, time: string | null) => time === null
      ? `Habits alone tell ${percent(prior)} on the likeliest day, ${percent(mean)} on average.`
      : `Habits alone tell ${percent(prior)} where it is likeliest (${time}), ${percent(mean)} on average.`,
    cap: (cap: number) => `Nowhere above ${percent(cap)}, except where habits tell about that much already.`,
    change: "Change",
    changeNamed: (name: string) => `Change ${name}`,
    drop: "Drop",
    dropNamed: (name: string) => `Drop ${name}`,
    keep: "Keep it after all",
    keepNamed: (name: string) => `Keep ${name} after all`,
    marks: { new: "new", changed: "changed", dropped: "dropped" } as Record<string, string>,
    add: "Declare a secret",
    editing: (name: string) => (name ? `The secret ${name}` : "A new secret"),
    name: "Name, as only you see it",
    contexts: "Places",
    hours: "Hours",
    hoursHelp: "Drag over the hours, or go with arrow keys and choose with space; shift and an arrow key choose on. "
      + "The same hours hold on every day of the week.",
    bars: (most: number) => `Bars: how likely it is by habits alone, at most ${percent(most)}.`,
    hour: (from: string, to: string, prior: number | undefined) =>
      `${from} to ${to}${prior === undefined ? "" : `, by habits ${percent(prior)}`}`,
    wholeDay: "All day",
    noHours: "No hours",
    about: "It is about",
    eachWords: "being there at a given time: no moment of these hours may become more certain than that",
    anyWords: "having been there at some time of the day, or of one night: all that is told together says no more",
    delta: "How much more may be believed",
    points: "percentage points",
    strength: (gain: number) => gain < 0.03 ? "hardly anything" : gain < 0.08 ? "a little" : gain < 0.16 ? "some"
      : gain < 0.31 ? "much" : "nearly all of it",
    never: "And never above, in percent (may be left out)",
    same: "Nothing would change.",
    done: "Put it into the draft",
    cancel: "Cancel",
    draft: "A draft, not saved yet",
    draftWords: (date: string) => `Saved now, it holds from ${dayName(date)} on, the cut after next. Until then what `
      + "is in force stays, and what is told until then cannot be taken back: where somebody believes more than a new "
      + "limit by then, it is listed here, and rises no further.",
    tells: "What the change itself may tell: that it comes at a later cut, and not when you make it, keeps it from "
      + "telling of today. From then on, somebody who watches may notice that more or less is told. Assume that they "
      + "know which secrets you have; what they may not know is when they are true, and limits are about that.",
    file: "The policy file is written anew; comments that you wrote in it are lost.",
    toldBefore: "Told before it was secret. It cannot be taken back, and rises no further:",
    toldOne: (secret: string, date: string, time: string, belief: number) =>
      `${secret}, ${dayName(date)} ${time}: believed at ${percent(belief)}`,
    preview: "See what it would cost",
    again: "See again",
    previewing: "Trying it out…",
    progress: (done: number, total: number) => `${done} of ${total} days`,
    stop: "Stop",
    save: "Save",
    saved: (date: string) => `Saved. It holds from ${dayName(date)} on.`,
    discard: "Discard",
    cost: "What it would cost",
    drawn: (weeks: number) => `Over ${weeks} weeks drawn from your habits, the same for both:`,
    before: "As it is",
    after: "The draft",
    shownTrue: "told as it was",
    coarse: "told more coarsely",
    false: "told falsely",
    silent: "silence",
    worth: "worth to applications",
    difference: (mean: number, half: number) => Math.abs(mean) <= half
      ? `No difference that can be told apart from chance (${points(mean)} ± ${points(half)} percentage points).`
      : `Its worth to applications ${mean < 0 ? "falls" : "rises"} by ${points(Math.abs(mean))} ± ${points(half)} `
        + "percentage points.",
    audit: "audit",
    holds: (rests: string) => (rests === "proof" ? "every limit is kept, by proof" : "every limit is kept"),
    open: "not every limit is proven to be kept",
    broken: "a limit is exceeded",
    worst: "most that was found",
    worstWords: (secret: string, from: number, to: number) => `${secret}: ${percent(from)} to ${percent(to)}`,
    nothing: "–",
    week: "Your last days",
    weekWords: "What was true, what was told, and what would have been told: one draw of many, made for this look and "
      + "kept nowhere.",
    noDays: "Nothing that was true is kept yet, so there is no day to try it on.",
    rows: ["true", "told", "would"],
    tried: (time: string, to: string, truth: string, told: string, would: string) =>
      `${time} to ${to}: true is ${truth}, told was ${told}, would have been told: ${would}.`,
    counts: (told: number, would: number, of: number) =>
      `Of ${of} slots ${told} were shown; ${would} would have been.`,
    fixed: "Secrets cannot be changed here:",
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
    usedAt: (seconds: number) => dateHour(seconds),
    shows: (groups: string[], rest: string | null) => [...groups, ...(rest === null ? [] : [rest])].join(", "),

    qr: (name: string) => `A code for a phone: ${name}`,
    qrSource: (address: string) =>
      `OwnTracks on a phone opens this code and then sends to ${address}, with this token as its password.`,
    qrApplication: "A phone that opens this code sees exactly what this token gets.",
    qrLoopback:
      "A phone cannot reach this address, which means the machine itself. Open this page by the name that phones use, and "
      + "make the token there.",
    link: "Open it here",

    gets: "What it gets",
    getsNamed: (name: string) => `What it gets: ${name}`,
    getsClose: "Close",

    views: "Views",
    viewsWords:
      "A view shows an application less: places by group, or not at all. All applications together learn no more than "
      + "what is told.",
    noViews: "There is no view yet; every application gets all that is told.",
    viewFile: (file: string) => `Kept in ${file}, and in force from the next slot on.`,
    noFile: "This gateway has no discreet.toml, so that no view can be kept.",
    viewRest: (rest: string) => `All else is told as ${rest}.`,
    viewSilent: "All else is silence.",
    viewGroup: (group: string, inside: string[]) => `${group}: ${inside.join(", ")}`,
    viewEdit: "Change",
    viewEditNamed: (name: string) => `Change: ${name}`,
    viewRemove: "Remove",
    viewRemoveNamed: (name: string) => `Remove: ${name}`,
    viewAdd: "Make a view",
    viewName: "Name of the view",
    viewTold: "Told as",
    viewToldOf: (context: string) => `${context} is told as`,
    viewToldWords: "Places with the same word are one. What is left empty is told as all else.",
    viewElse: "All else is told as (empty: silence)",
    viewSave: "Save the view",
    viewEmpty: "Give at least one place a word.",
  },

  gets: {
    heading: (person: string) => `What this application gets of ${person}`,
    ask: "What an application gets",
    askWords: "Give the application's token. It is sent to this gateway alone, and shows nothing that it could not read itself.",
    token: "Token",
    look: "Look",
    words: (slots: number) =>
      `The last ${number(slots)} slots, byte by byte, as this gateway answers this token. There is nothing else: a latitude `
      + "is that of a place and not of a phone, and silence looks the same whatever it hides.",
    nothing: "Nothing has been told yet.",
    nowOnly: "This token is for the present alone: it has no history.",
    whole: "View: all that is told.",
    groups: (groups: [string, string[]][], rest: string | null) =>
      `View: ${groups.map(([name, inside]) => `“${name}” for ${inside.join(", ")}`).join("; ")}; all else is `
      + `${rest === null ? "silence" : `“${rest}”`}.`,
    again: "Look again",
  },
};
