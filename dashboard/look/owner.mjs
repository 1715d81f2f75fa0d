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
  await page.focus(".strip svg");
  for (const [key, slot] of [["Home", 0], ["ArrowRight", 1], ["ArrowRight", 2], ["ArrowLeft", 1]]) {
    await page.keyboard.press(key);
    await page.waitForSelector(`.strip svg[aria-valuenow="${slot}"]`);
  }
  holds((await page.textContent(".drifted")).includes("DO NOT HOLD"), "habits that the data refute are not told of");
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
    (await fetch("/v1/owner/tokens", { method: "POST", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ purpose: "application" }) })).status);
  holds(forged === 403, `a write without the session's word is answered ${forged}`);
  await page.click("[aria-label='Revoke kitchen']");
  await page.click(".danger");
  await page.waitForSelector(".ended");
  holds((await reads()) === 401, "a revoked token reads");
  const late = new Promise((resolve) => setTimeout(resolve, 5000, false));
  holds(await Promise.race([closed, late]), "the stream of a revoked token stays open");
  holds(!(await page.content()).includes(secret), "the secret stays on the page");

  await page.click("header button");
  expectErrors(1);
  await page.fill("[name=password]", "not the password");
  await page.click("form button");
  await page.waitForSelector("[role=alert]");
  await page.fill("[name=password]", password);
  await page.click("form button");
  await page.waitForSelector("header");
});
