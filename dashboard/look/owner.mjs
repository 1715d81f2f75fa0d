// The first password, today, an application's token, and the door.
import { address, allow, expectErrors, holds, look, page, password, seen, token } from "./browser.mjs";

/** Without a connection what is seen is grey, with since when; it recovers by itself. */
async function wentStale() {
  allow("503");
  await page.route("**/stream", (route) => route.fulfill({ status: 503 }));
  await page.click("a[href='#places']");
  await page.click("a[href='#today']");
  await page.waitForSelector(".stale .problem[role=status]");
  const said = await page.textContent(".stale .problem[role=status]");
  holds(/^Not connected since \d\d:\d\d \(.+ ago\)/.test(said), said);
  holds((await page.evaluate(() => getComputedStyle(document.querySelector(".strip")).filter)).includes("grayscale"),
    "what is out of date is not grey");
  await seen("stale");
  await page.unroute("**/stream");
  await page.waitForSelector(".live:not(.off)");
  await page.waitForSelector(".stale", { state: "detached" });
}

/** A source that is quiet and a broker that is away are said in the line, and the source on every other screen too. */
async function inALine() {
  await page.route("**/sources", async (route) => {
    const { now } = await (await route.fetch()).json();
    const ago = new Date(1000 * now - 3 * 3_600_000).toISOString();
    return route.fulfill({ json: { sources: [{ source: "phone", heard: ago, usual: 300, quiet: true }], refused: {}, broker: true, now } });
  });
  await page.reload();
  await page.waitForSelector(".status span:has-text('phone is quiet: last heard 3 hr ago')");
  await page.waitForSelector(".status span:has-text('the broker is away')");
  await page.waitForSelector(".status span:has-text('all secrets well below their limits'), .status span:has-text('near the limit')");
  for (const screen of ["places", "secrets", "applications"]) {
    await page.click(`a[href='#${screen}']`);
    await page.waitForSelector(".notices .problem:has-text('longer than usual')");
  }
  await seen("quiet");
  await page.unroute("**/sources");
  await page.click("a[href='#today']");
  await page.waitForSelector(".status span:has-text('next update at')");
}

/** A pause is announced for later, by keys too; one at once is refused, with the reason. */
async function paused() {
  const { earliest, today } = await page.evaluate(async () => (await fetch("v1/owner/people/jane/pauses")).json());
  await page.focus(".pause summary:has-text('Announce a pause')");
  await page.keyboard.press("Enter");
  expectErrors(1);
  await page.fill("[name=first]", today);
  await page.click(".pause form button");
  await page.waitForSelector(".pause .problem:has-text('one that began at once would tell')");
  await page.fill("[name=first]", earliest);
  await page.click(".pause form button");
  await page.waitForSelector(".pause p:has-text('Apps will get nothing on')");
  holds((await page.locator(".pause .problem").count()) === 0, "a problem stays that is none");
  await seen("paused");
  await page.click(".pause button[aria-label^='Take it back']");
  await page.waitForSelector(".pause p:has-text('Apps will get nothing')", { state: "detached" });
}

await look(async () => {
  await page.goto(`${address}/page`);
  const devtools = await page.context().newCDPSession(page);
  const manifest = await devtools.send("Page.getAppManifest");
  const { installabilityErrors } = await devtools.send("Page.getInstallabilityErrors");
  holds(manifest.errors.length === 0 && JSON.parse(manifest.data).display === "standalone", "it has no manifest");
  const errors = installabilityErrors.filter((one) => one.errorId !== "in-incognito"); // as this browser's window is
  holds(errors.length === 0, `it cannot be installed: ${JSON.stringify(errors)}`);
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
  await page.focus("summary[aria-label='What is the stranger?']"); // a word is explained where it stands, by keys
  await page.keyboard.press("Enter");
  await page.waitForSelector(".help[open] p:visible:has-text('knows your routine')");
  await seen("today");
  await wentStale();
  await inALine();
  await paused();

  await page.click("a[href='#applications']");
  await page.waitForSelector(".notices .drifted"); // what the owner has to know is said on every screen, once
  holds((await page.locator(".drifted").count()) === 1, "a notice is said twice");
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
