"use strict";

let colours = {};

function cell(label, title, secret) {
  const made = document.createElement("i");
  made.title = title;
  if (label === "" || label === "unknown") made.className = "silent";
  else made.style.background = colours[label] ?? "#8b929b";
  if (label !== "" && label === secret) made.className += " secret";
  return made;
}

function strip(name, cells) {
  const made = document.createElement("div");
  const head = document.createElement("b");
  made.className = "strip";
  head.textContent = name;
  made.append(head, ...cells);
  return made;
}

/** The hours below the strips: one mark for every six, or for every three while the day is short. */
function axis(slots) {
  const marked = slots.length > 24 ? /^(00|06|12|18):00$/ : /^(00|03|06|09|12|15|18|21):00$/;
  return strip("", slots.map((one) => {
    const made = document.createElement("span");
    made.textContent = marked.test(one.time) ? one.time : "";
    return made;
  }));
}

/** How sure the stranger is, slot by slot: a bar that is red where a stranger is right more often than not. */
function guesses(slots, of) {
  return strip("stranger", slots.map((one) => {
    const made = document.createElement("i");
    const bar = document.createElement("u");
    made.className = "guess";
    made.title = `${one.time} ${percent(of(one))}`;
    bar.style.height = `${100 * of(one)}%`;
    if (of(one) > SURE) bar.className = "sure";
    made.append(bar);
    return made;
  }));
}

const SURE = 0.5;

const percent = (share) => (share < 0.01 ? "under 1 %" : share > 0.99 ? "over 99 %" : `${Math.round(100 * share)} %`);

const WAYS = {
  filter: {
    told: (one) => one.filtered,
    guess: (one) => one.filtered_guess,
    words: (secret, most) => most > SURE
      ? `The filter hides the ${secret} and nothing else, so the gap gives it away: a stranger became ${percent(most)} sure.`
      : `Until Sam goes to the ${secret}, the filter shows everything. Wait for the visit.`,
  },
  discreet: {
    told: (one) => one.told,
    guess: (one) => one.guess,
    words: (secret, most) => `discreet also shows nothing at other times, so a gap says little: a stranger is at most `
      + `${percent(most)} sure of a visit to the ${secret}.`,
  },
};

let latest = null;

function show(seen) {
  latest = seen;
  colours = seen.colours;
  document.getElementById("secret").textContent = seen.secret;
  if (seen.slots.length === 0) return;
  const way = WAYS[document.querySelector("[name=by]:checked").value];
  const last = seen.slots[seen.slots.length - 1];
  document.getElementById("now").textContent =
    `${last.time}: Sam was at ${last.truth}; apps got ${way.told(last) || "nothing"}.`;
  document.getElementById("strips").replaceChildren(
    strip("Sam", seen.slots.map((one) => cell(one.truth, `${one.time} ${one.truth}`, seen.secret))),
    strip("apps", seen.slots.map((one) => cell(way.told(one), `${one.time} ${way.told(one) || "nothing"}`, seen.secret))),
    guesses(seen.slots, way.guess),
    axis(seen.slots),
  );
  const said = way.words(seen.secret, Math.max(...seen.slots.map(way.guess)));
  const concluded = document.getElementById("concluded");
  if (concluded.textContent !== said) concluded.textContent = said;
  const labels = new Set(seen.slots.flatMap((one) => [one.truth, way.told(one)]).filter((one) => one && one !== "unknown"));
  document.getElementById("legend").replaceChildren(...[...labels].map((label) => {
    const made = document.createElement("span");
    made.append(cell(label, label, seen.secret), label);
    return made;
  }));
}

document.getElementById("by").addEventListener("change", () => latest && show(latest));

async function look() {
  try {
    show(await (await fetch("/demo/seen")).json());
  } catch {
    document.getElementById("now").textContent = "discreet has stopped.";
  }
  setTimeout(look, 500);
}

look();
