// A day of 96 slots with ten secrets: why slots were silent, the week, the calendar, a year; and how long it takes.
import { readFileSync, writeFileSync } from "node:fs";
import { enter, folder, holds, look, page, seen } from "./browser.mjs";

const DRAWN = 100; // ms, from nothing to the whole day
const MOVED = 16; // ms, for a slot that is told
const YEAR = 365;

const metrics = await page.context().newCDPSession(page);
// by the thread's own clock: what other programs do with the processor does not count
await metrics.send("Performance.enable", { timeDomain: "threadTicks" });

/** What the page's thread did so far: ms of script, style and layout; and what it holds. */
async function measured() {
  const found = new Map((await metrics.send("Performance.getMetrics")).metrics.map((one) => [one.name, one.value]));
  const parts = ["ScriptDuration", "RecalcStyleDuration", "LayoutDuration"];
  const work = parts.reduce((sum, name) => sum + found.get(name), 0);
  return { work: 1000 * work, nodes: found.get("Nodes"), listeners: found.get("JSEventListeners") };
}

async function held() {
  await metrics.send("HeapProfiler.collectGarbage");
  const { usedSize } = await metrics.send("Runtime.getHeapUsage");
  return { heap: usedSize, ...(await measured()) };
}

const middle = (values) => [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)];
const figure = () => page.textContent(".figure");

async function nextSlot() {
  const before = await figure();
  const from = (await measured()).work;
  await page.waitForFunction((text) => document.querySelector(".figure")?.textContent !== text, before);
  await page.waitForTimeout(150);
  return (await measured()).work - from;
}

/** From an empty screen to the whole day, with the script already there. */
async function drawnAnew() {
  await page.click("a[href='#applications']");
  await page.waitForSelector("form.card");
  await page.waitForTimeout(200);
  const from = (await measured()).work;
  await page.click("a[href='#today']");
  await page.waitForFunction(() => document.querySelectorAll(".plot path.belief").length === 10);
  await page.waitForTimeout(150);
  return (await measured()).work - from;
}

/** Every slot whose truth was withheld says why. */
async function explained() {
  const why = await page.evaluate(async () => {
    const days = await (await fetch("/v1/owner/people/jane/days")).json();
    const day = await (await fetch(`/v1/owner/people/jane/day?date=${days.first}`)).json();
    return day.slots.filter((one) => one.why).map((one) => ({ slot: one.slot, truth: one.true, ...one.why }));
  });
  holds(why.length > 3, "too little was withheld to look at");
  await page.click("[aria-label='Previous day']");
  await page.waitForSelector("[aria-label='Previous day']:disabled");
  await page.waitForFunction(() => document.querySelectorAll(".plot path.belief").length === 10);
  await page.focus(".strip [role=slider]");
  await page.keyboard.press("Home");
  let at = 0;
  const found = new Set();
  for (const one of why.filter((_, k) => k % 3 === 0)) {
    for (; at < one.slot; at += 1) await page.keyboard.press("ArrowRight");
    await page.waitForSelector(`.strip [role=slider][aria-valuenow="${one.slot}"]`);
    const said = (await page.textContent(".why strong")) ?? "";
    const row = one.rows[0];
    holds(row && said.includes(row.own ? "is secret" : row.secret), `slot ${one.slot}: ${said}`);
    holds(said.includes(one.truth) && (one.share === 0) === !said.includes("By chance"), `slot ${one.slot}: ${said}`);
    found.add(said);
  }
  return [...found];
}

/** Every slot is wide enough to be seen and pressed, on a phone too, and a press finds it. */
async function folded() {
  await page.setViewportSize({ width: 360, height: 740 });
  await page.waitForFunction(() => document.querySelectorAll(".strip [data-first]").length > 1);
  const parts = await page.locator(".strip [data-first]").evaluateAll((all) => all.map((one) =>
    ({ first: Number(one.dataset.first), slots: Number(one.dataset.slots), wide: one.getBoundingClientRect().width })));
  holds(parts.every((one) => one.wide / one.slots >= 8), `slots of ${parts[0].wide / parts[0].slots} px on a phone`);
  holds(parts.reduce((sum, one) => sum + one.slots, 0) === 96, "folding lost slots");
  const last = parts.at(-1);
  await page.locator(".strip [data-first]").last().click({ position: { x: 1.5 * (last.wide / last.slots), y: 10 } });
  await page.waitForSelector(`.strip [role=slider][aria-valuenow="${last.first + 1}"]`);
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** The day and its month as files, which the browser makes by itself. */
async function exported() {
  await page.click(".export summary");
  const saved = async (name) => {
    const [file] = await Promise.all([page.waitForEvent("download"), page.click(`.export [aria-label^="Save"][aria-label$="${name}"] >> nth=0`)]);
    return [file.suggestedFilename(), readFileSync(await file.path())];
  };
  const [name, csv] = await saved("CSV");
  const lines = csv.toString().trim().split("\r\n");
  holds(/^jane \d{4}-\d\d-\d\d\.csv$/.test(name), `the file is called ${name}`);
  holds(lines[0] === "start,end,true,told,kind" && lines.length === 97, `a day of 96 slots has ${lines.length - 1} lines`);
  const [, json] = await saved("JSON");
  const [day] = JSON.parse(json);
  holds(day.slots.every((one, k) => lines[k + 1].startsWith(`${one.start},${one.end},${one.true},`)), "the files differ");
  const [picture, png] = await saved("Picture");
  holds(picture.endsWith(".png") && png.subarray(1, 4).toString() === "PNG" && png.length > 2000, "the picture is none");
  writeFileSync(`${folder}/export.png`, png);
  const [month] = await Promise.all([page.waitForEvent("download"), page.click('.export [aria-label$="CSV"] >> nth=1')]);
  const all = readFileSync(await month.path()).toString().trim().split("\r\n");
  holds(/^jane \d{4}-\d\d\.csv$/.test(month.suggestedFilename()) && all.length > lines.length, "the month has a day alone");
}

/** A week and a month in time, with hours drawn larger; by keys alone. */
async function inTime() {
  const rows = () => page.locator(".week li").count();
  const wide = () => page.locator(".week li svg").first().getAttribute("viewBox");
  holds((await rows()) === 7, "a week has seven days");
  await page.focus("button:has-text('Month')");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".week li").length === 3); // of March, until today
  await page.waitForFunction(() => document.querySelectorAll(".week li button:enabled").length >= 2);
  await seen("month");
  holds((await wide()) === "0 0 96 22", `a day of the month is ${await wide()}`);
  await page.focus("[aria-label='Show fewer hours, larger']");
  await page.keyboard.press("Enter");
  await page.keyboard.press("Enter");
  holds((await wide()) === "0 0 24 22", `zoomed it is ${await wide()}`);
  await page.click("[aria-label='Later hours']");
  holds((await page.textContent(".zoom [role=status]")) === "06:00 to 12:00", await page.textContent(".zoom [role=status]"));
  await page.click("button:text-is('Week')");
  await page.waitForFunction(() => document.querySelectorAll(".week li").length === 7);
  await seen("week-zoomed");
  await page.setViewportSize({ width: 1280, height: 900 });
}

/** A place has one colour: on the day, on the map, in another order of screens, and after a reload. */
async function coloured() {
  const onDay = () => page.locator(".strip ~ .legend li").evaluateAll((all) => Object.fromEntries(all
    .filter((one) => one.querySelector(".cell")).map((one) =>
      [one.textContent.replace(" (secret)", "").trim(), one.querySelector(".cell").getAttribute("fill")])));
  const before = await onDay();
  const kept = await page.evaluate(async () => (await fetch("/v1/owner/people/jane/colours")).json());
  holds(Object.entries(before).every(([name, fill]) => name === "unknown" || kept[name] === fill),
    `${JSON.stringify(before)} is not ${JSON.stringify(kept)}`);
  holds(new Set(Object.values(before)).size === Object.keys(before).length, "two places have one colour");
  await page.goto(page.url().replace(/#.*/, "#secrets"));
  await page.reload();
  await page.click("a[href='#today']");
  await page.waitForFunction(() => document.querySelectorAll(".plot path.belief").length === 10);
  const after = await onDay();
  holds(Object.entries(after).every(([name, fill]) => !(name in before) || before[name] === fill), "colours changed");
}

async function calendar() {
  await page.click("button[aria-expanded]");
  const cells = page.locator(".calendar button.day");
  holds((await cells.count()) >= 28, "the calendar has no month");
  await page.waitForSelector(".calendar button[class*='shade-']:not(.shade-0)");
  await page.keyboard.press("ArrowRight"); // keys work at once
  await page.waitForFunction(() => document.activeElement?.textContent === "3");
  await page.keyboard.press("ArrowDown"); // beyond what was told: it stays
  await page.waitForFunction(() => document.activeElement?.textContent === "3");
  await page.keyboard.press("Enter"); // it closes, and leads to the day
  await page.waitForSelector(".live");
  const closed = () => page.waitForFunction(() => document.activeElement?.getAttribute("aria-expanded") === "false");
  await closed();
  await page.keyboard.press("Enter");
  await page.waitForSelector(".calendar");
  await page.keyboard.press("Escape");
  await closed();
  await page.waitForSelector(".calendar", { state: "detached" });
  await page.keyboard.press("Enter");
  await page.waitForSelector(".calendar");
  await page.mouse.click(5, 500); // beside it
  await page.waitForSelector(".calendar", { state: "detached" });
  await page.focus(".picker button[aria-expanded]");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".calendar .shade-1, .calendar .shade-2, .calendar .shade-3");
}

/** As if the gateway had told for a year: earlier days are answered with copies of the first. */
async function longAgo() {
  await page.evaluate(async (days) => {
    const asked = window.fetch;
    const { first, last } = await (await asked("/v1/owner/people/jane/days")).json();
    const ago = new Date(Date.parse(first) - days * 86_400_000).toISOString().slice(0, 10);
    const copies = new Map();
    window.fetch = async (path, options) => {
      const [route, query] = path.split("?");
      const date = new URLSearchParams(query).get("date");
      if (route.endsWith("/days")) return Response.json({ first: ago, last });
      if (!date || date >= first) return asked(path, options);
      if (!copies.has(route)) copies.set(route, await (await asked(path.replace(date, first), options)).text());
      const copy = { ...JSON.parse(copies.get(route)), date };
      for (const one of copy.slots ?? []) one.true = one.why = null; // kept no longer
      return Response.json(copy);
    };
  }, YEAR);
}

async function back(days) {
  await page.evaluate(async (count) => {
    for (let k = 0; k < count; k += 1) {
      const before = document.querySelector("h1").textContent;
      document.querySelector("[aria-label='Previous day']").click();
      while (document.querySelector("h1").textContent === before) await new Promise((done) => setTimeout(done, 1));
    }
  }, days);
}

await look(async () => {
  await enter();
  await page.waitForFunction(() => document.querySelectorAll(".plot path.belief").length === 10);
  holds((await page.locator(".strip .cell:not(.secret)").count()) === 192, "not every slot has its two cells");

  const drawn = [];
  for (let k = 0; k < 3; k += 1) drawn.push(await drawnAnew());
  await nextSlot(); // whatever else the day asked for is there
  const asked = [];
  page.on("request", (request) => asked.push(request.url().replace(/^.*\/jane\//, "")));
  const moved = [];
  for (let k = 0; k < 5; k += 1) moved.push(await nextSlot());
  const brief = /^(day\?date=[-\d]+&first=[1-9]\d*|beliefs\?date=[-\d]+&lines)$/;
  holds(asked.length > 0 && asked.every((url) => brief.test(url)),
    `more than what changed is asked for: ${asked}`);
  holds(middle(drawn) < DRAWN, `a day is drawn in ${drawn} ms`);
  holds(middle(moved) < MOVED, `a slot is drawn in ${moved} ms`);

  const sentences = await explained();
  await seen("day");
  await exported();
  await inTime();
  await folded();
  await coloured();
  await calendar();
  await seen("calendar");
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.click("button[aria-expanded]");
  await page.click(".week li button:enabled");
  await page.waitForSelector(".week li:first-child [aria-current]");

  await longAgo();
  await page.click("a[href='#applications']");
  await page.click("a[href='#today']");
  await page.waitForSelector(".plot path.belief", { state: "attached" });
  await back(40);
  holds((await page.textContent("section")).includes("no longer kept"), "the page does not say that truth is gone");
  const early = await held();
  const streams = asked.filter((url) => url.endsWith("stream")).length;
  await back(YEAR - 41);
  holds(asked.filter((url) => url.endsWith("stream")).length === streams, "another stream is opened for another day");
  const late = await held();
  holds(late.heap < early.heap + 2_000_000, `the page grew from ${early.heap} to ${late.heap} bytes`);
  holds(late.nodes < early.nodes + 500 && late.listeners < early.listeners + 100,
    `the page grew: ${JSON.stringify([early, late])}`);
  writeFileSync(`${folder}/measured.json`, JSON.stringify({ drawn, moved, early, late, sentences }, null, 2));
});
