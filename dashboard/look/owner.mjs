// The first password, today, an application's token, and the door.
import { address, expectErrors, holds, look, page, password, seen, token } from "./browser.mjs";

await look(async () => {
  await page.goto(`${address}/page`);
  await page.fill("[name=token]", token);
  await seen("login");
  await page.fill("[name=chosen]", password);
  await page.click("form button");
  await page.waitForSelector(".plot path.belief", { state: "attached" });

  const before = await page.textContent(".figure");
  await page.waitForFunction((text) => document.querySelector(".figure")?.textContent !== text, before);
  await page.focus(".strip [role=slider]");
  for (const [key, slot] of [["Home", 0], ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1]]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`.strip [role=slider][aria-valuenow="${slot}"]`);
  }
  holds((await page.textContent(".drifted")).includes("no longer match"), "habits that the data refute are not told of");
  await page.waitForSelector(".status span:has-text('next update at')");
  holds(!/\d\.\d{2,} ?%/.test(await page.innerText("main")), "a share has digits that nobody needs");
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
  const stream = await fetch(`${address}/v1/people/${person}/stream`, { headers });
  const closed = (async () => {
    for await (const part of stream.body) void part;
    return true;
  })().catch(() => true);
  expectErrors(1);
  const forged = await page.evaluate(async () =>
    (await fetch("v1/owner/tokens", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ purpose: "application" }) })).status);
  holds(forged === 403, `a write without the session's word is answered ${forged}`);
  await page.click("[aria-label='Revoke kitchen']");
  await page.click(".danger");
  await page.waitForSelector(".ended");
  holds((await reads()) === 401, "a revoked token reads");
  const late = new Promise((resolve) => setTimeout(resolve, 5000, false));
  holds(await Promise.race([closed, late]), "the stream of a revoked token stays open");
  holds(!(await page.content()).includes(secret), "the secret stays on the page");

  // Dates are in the language of the texts, whatever that of the browser is.
  const german = await (await page.context().browser().newContext({ locale: "de-DE" })).newPage();
  await german.goto(`${address}/page`);
  await german.fill("[name=password]", password);
  await german.click("form button");
  const day = await german.textContent(".picking h1");
  holds(/^(Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day, /.test(day), `amid English texts the day is called ${day}`);
  await german.context().close();

  await page.fill("form [name=name]", "typed and not made yet");
  await page.click("header button");
  holds((await page.evaluate(() => Object.keys(sessionStorage).length)) === 0, "what was typed stays after logging out");
  expectErrors(1);
  await page.fill("[name=password]", "not the password");
  await page.click("form button");
  await page.waitForSelector("[role=alert]");
  await page.fill("[name=password]", password);
  await page.click("form button");
  await page.waitForSelector("header");
});
