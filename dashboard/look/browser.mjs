// A look at the page in Chromium, as its owner has it, with pictures; the program ends with 1 if something is wrong.
// node look/STORY.mjs ADDRESS TOKEN FOLDER: TOKEN is the one for the first password, and the gateway is a throw-away one.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

export const [address, token, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
export const password = "a password for one look";
const problems = [];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB" });
context.setDefaultTimeout(20_000);
export const page = await context.newPage();
let expected = 0;
/** Answers that are errors on purpose: the browser writes each to the console. */
export const expectErrors = (count) => void (expected += count);
const allowed = [];
/** A status that is answered as often as the page asks. */
export const allow = (status) => void allowed.push(status);
page.on("console", (line) => {
  if (line.type() !== "error" || allowed.some((status) => line.text().includes(`status of ${status}`))) return;
  if (expected > 0 && line.text().includes("40")) expected -= 1;
  else problems.push(`console: ${line.text()}`);
});
page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
page.on("request", (request) => {
  if (!request.url().startsWith(address)) problems.push(`a request outside: ${request.url()}`);
});

/** Pictures on a phone and on a desk; nothing is too wide, and axe finds nothing serious. */
export async function seen(name) {
  for (const [width, height, scheme] of [[320, 640, "dark"], [1280, 900, "light"]]) {
    await page.setViewportSize({ width, height });
    await page.emulateMedia({ colorScheme: scheme });
    await page.waitForTimeout(400); // colours fade
    await page.screenshot({ path: `${folder}/${name}-${width}.png`, fullPage: true });
    const wide = await page.evaluate(() => document.documentElement.scrollWidth);
    if (wide > width) problems.push(`${name} is ${wide} wide on a screen of ${width}`);
    const found = await page.evaluate(`(async () => { ${axe}; return (await axe.run()).violations; })()`);
    for (const one of found.filter((each) => ["serious", "critical"].includes(each.impact)))
      problems.push(`${name} at ${width}: ${one.id} ${one.nodes[0].html}`);
  }
}

export const holds = (what, words) => void (what || problems.push(words));

/** The first password is set, and the page is open. */
export async function enter() {
  await page.goto(`${address}/page`);
  await page.fill("[name=token]", token);
  await page.fill("[name=chosen]", password);
  await page.click("form button");
  await page.waitForSelector("header nav");
}

/** What is done and seen; then the browser is closed, and what is wrong is said. */
export async function look(story) {
  try {
    await story();
  } catch (error) {
    problems.push(String(error));
  }
  await browser.close();
  for (const one of problems) console.log(one);
  process.exitCode = problems.length ? 1 : 0;
}
