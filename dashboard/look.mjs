// Looks at every screen of the page in Chromium, as its owner does, and takes pictures; ends with 1 if one is wrong.
// node look.mjs ADDRESS TOKEN FOLDER: TOKEN is the one for the first password, and the gateway is a throw-away one.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { chromium } from "playwright-core";

const [address, token, folder] = process.argv.slice(2);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const password = "a password for one look";
const problems = [];
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync"],
});
const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, locale: "en-GB" });
context.setDefaultTimeout(20_000);
const page = await context.newPage();
let expected = 0; // answers that are errors on purpose: the browser writes each to the console
page.on("console", (line) => {
  if (line.type() !== "error") return;
  if (expected > 0 && line.text().includes("40")) expected -= 1;
  else problems.push(`console: ${line.text()}`);
});
page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
page.on("request", (request) => {
  if (!request.url().startsWith(address)) problems.push(`a request outside: ${request.url()}`);
});

async function seen(name) {
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

const holds = (what, words) => void (what || problems.push(words));

try {
  await page.goto(`${address}/page`);
  await page.fill("[name=token]", token);
  await seen("login");
  await page.fill("[name=chosen]", password);
  await page.click("form button");
  await page.waitForSelector("path.belief");

  const before = await page.textContent(".figure");
  await page.waitForFunction((text) => document.querySelector(".figure")?.textContent !== text, before);
  await page.focus(".strip svg");
  for (const [key, slot] of [["Home", 0], ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1]]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`.strip svg[aria-valuenow="${slot}"]`);
  }
  await page.click(".card summary");
  await page.waitForSelector("table tbody tr");
  await seen("today");

  await page.click("a[href='#applications']");
  await page.fill("form [name=name]", "kitchen");
  await page.click("form.card button");
  await page.waitForSelector(".once input");
  const secret = await page.inputValue(".once input");
  await seen("applications");
  const person = encodeURIComponent(await page.inputValue("form [name=person]"));
  const headers = { Authorization: `Bearer ${secret}` };
  const reads = async () => (await fetch(`${address}/v1/people/${person}/now`, { headers })).status;
  holds((await reads()) === 200, "a new token does not read");
  await page.click("[aria-label='Revoke kitchen']");
  await page.click(".danger");
  await page.waitForSelector(".ended");
  holds((await reads()) === 401, "a revoked token reads");
  holds(!(await page.content()).includes(secret), "the secret stays on the page");

  await page.click("header button");
  expected += 1;
  await page.fill("[name=password]", "not the password");
  await page.click("form button");
  await page.waitForSelector("[role=alert]");
  await page.fill("[name=password]", password);
  await page.click("form button");
  await page.waitForSelector("header");
} catch (error) {
  problems.push(String(error));
}
await browser.close();
for (const one of problems) console.log(one);
process.exitCode = problems.length ? 1 : 0;
