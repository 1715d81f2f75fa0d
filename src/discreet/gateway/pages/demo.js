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

/** The hours below the strips: one mark for every six. */
function axis(slots) {
  return strip("", slots.map((one) => {
    const made = document.createElement("span");
    made.textContent = /^(00|06|12|18):00$/.test(one.time) ? one.time : "";
    return made;
  }));
}

function show(seen) {
  colours = seen.colours;
  document.getElementById("secret").textContent = seen.secret;
  if (seen.slots.length === 0) return;
  const last = seen.slots[seen.slots.length - 1];
  const told = last.told === "" ? "nothing" : last.told;
  document.getElementById("now").textContent = `${last.time}: Sam was at ${last.truth}; apps got ${told}.`;
  document.getElementById("strips").replaceChildren(
    strip("Sam", seen.slots.map((one) => cell(one.truth, `${one.time} ${one.truth}`, seen.secret))),
    strip("apps", seen.slots.map((one) => cell(one.told, `${one.time} ${one.told || "nothing"}`, seen.secret))),
    axis(seen.slots),
  );
  const labels = new Set(seen.slots.flatMap((one) => [one.truth, one.told]).filter((one) => one && one !== "unknown"));
  document.getElementById("legend").replaceChildren(...[...labels].map((label) => {
    const made = document.createElement("span");
    made.append(cell(label, label, seen.secret), label);
    return made;
  }));
}

async function look() {
  try {
    show(await (await fetch("/demo/seen")).json());
  } catch {
    document.getElementById("now").textContent = "discreet has stopped.";
  }
  setTimeout(look, 500);
}

look();
