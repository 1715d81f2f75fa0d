// `discreet serve --demo`: the page of somebody made up, open at once; the same day by a simple filter and by discreet;
// and their owner's page on the day on which the gateway was started.
import { address, enter, holds, look, page, seen } from "./browser.mjs";

const VISIT = 60_000; // ms until the first visit to the secret place is over

await look(async () => {
  await page.goto(`${address}/`); // no password
  await page.waitForSelector("#strips .strip i.secret", { timeout: VISIT });
  await page.waitForFunction(() => document.querySelectorAll("#strips .guess u.sure").length === 0);
  const said = () => page.textContent("#concluded");
  holds(/discreet also shows nothing at other times/.test(await said()), await said());
  holds((await page.locator(".strip span").allTextContents()).some((one) => /^\d\d:00$/.test(one)), "there is no hour axis");
  const [red, green, blue] = await page.locator(".strip").first().locator("i").first()
    .evaluate((one) => getComputedStyle(one).backgroundColor.match(/\d+/g).map(Number));
  holds(blue > red && green > red, `home is rgb(${red}, ${green}, ${blue})`);

  await page.focus("[name=by][value=discreet]"); // by keys alone
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => /the gap gives it away/.test(document.getElementById("concluded").textContent), null,
    { timeout: VISIT });
  holds((await page.locator("#strips .guess u.sure").count()) >= 1, "the stranger is not sure of what a filter hides");
  holds((await page.locator("#strips .strip").nth(1).locator("i.silent").count()) >= 1, "the filter hides nothing");
  await seen("demo-filter");
  await page.keyboard.press("ArrowRight");
  await page.waitForFunction(() => document.querySelectorAll("#strips .guess u.sure").length === 0);
  await seen("demo-discreet");

  // On its first day the gateway is started at some hour: what is before that was never told, and is not still to come.
  await enter();
  await page.waitForSelector(".status span:has-text('next update at')");
  await page.waitForSelector(".status span:has-text('near the limit: hospital')", { timeout: VISIT });
  const { next, last } = await page.evaluate(() => {
    const said = [...document.querySelectorAll(".status span")].map((one) => one.textContent);
    const read = document.querySelector(".why p").textContent;
    return { next: /at (\d\d:\d\d)/.exec(said.find((one) => one.startsWith("next")))[1], last: /to (\d\d:\d\d)/.exec(read)[1] };
  });
  holds(next > last || next === "00:00", `until ${last} all is told, and the next update is at ${next}`);
  await page.focus(".strip [role=slider]");
  await page.keyboard.press("Home");
  await page.waitForSelector(".why p:has-text('before discreet was started')");
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  await page.waitForTimeout(5000);
  const days = asked.filter((url) => /\/day\?/.test(url));
  holds(days.length > 0 && days.every((url) => /first=[1-9]/.test(url)), `the whole day is asked for again: ${days}`);
});
