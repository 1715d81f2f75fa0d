"use strict";

const hues = new Map();

function colour(label) {
  if (!hues.has(label)) hues.set(label, (hues.size * 137) % 360);
  return `hsl(${hues.get(label)} 55% 55%)`;
}

function cell(label, title, secret) {
  const made = document.createElement("i");
  made.title = title;
  if (label === "" || label === "unknown") made.className = "silent";
  else made.style.background = colour(label);
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

function show(seen) {
  document.getElementById("secret").textContent = seen.secret;
  if (seen.slots.length === 0) return;
  const last = seen.slots[seen.slots.length - 1];
  const told = last.told === "" ? "nothing" : `“${last.told}”`;
  document.getElementById("now").textContent =
    `${last.date}, ${last.time}: true is “${last.truth}”, and every application was told ${told}.`;
  document.getElementById("strips").replaceChildren(
    strip("true", seen.slots.map((one) => cell(one.truth, `${one.time} ${one.truth}`, seen.secret))),
    strip("told", seen.slots.map((one) => cell(one.told, `${one.time} ${one.told || one.kind}`, seen.secret))),
  );
  document.getElementById("legend").replaceChildren(...[...hues.keys()].map((label) => {
    const made = document.createElement("span");
    made.append(cell(label, label, seen.secret), label);
    return made;
  }));
}

async function look() {
  try {
    show(await (await fetch("/demo/seen")).json());
  } catch {
    document.getElementById("now").textContent = "The gateway has stopped.";
  }
  setTimeout(look, 500);
}

look();
