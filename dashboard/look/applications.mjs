// A view made on the page, a token in it, what that token gets for its owner and for who has it, a phone's code.
import { address, enter, expectErrors, holds, look, page, seen } from "./browser.mjs";

await look(async () => {
  await enter();
  await page.click("a[href='#applications']");
  await page.click("text=New view");
  await page.fill("[name=name][pattern]", "friends");
  await page.fill("[aria-label='home is shown as']", "in");
  await page.fill("[aria-label='clinic is shown as']", "in");
  await page.fill("[aria-label='work is shown as']", "busy");
  await page.fill("[name=rest]", "out");
  await seen("view");
  await page.click("text=Save the view");
  await page.waitForSelector(".groups li");

  await page.fill("form [name=name]", "kitchen");
  await page.selectOption("[name=view]", "friends");
  await page.click("form.card button");
  await page.waitForSelector(".once .qr");
  const secret = await page.inputValue(".once input");
  holds((await page.getAttribute(".scanned a", "href")) === `${address}/page#gets=${secret}`, "a code leads elsewhere");
  // The address is whole, and the test shows what an application gets.
  holds((await page.textContent(".once code")).startsWith(`${address}/v1/people/`), "the address is not whole");
  await page.click("text=Send a test");
  await page.waitForSelector(".tested pre");
  // As this application sees one: a sentence and a strip, made of what it was sent.
  await page.waitForSelector("li:has-text('kitchen') .sees strong");
  const sentence = await page.textContent("li:has-text('kitchen') .sees strong");
  holds(/^kitchen (sees: (in|busy|out|unknown)|has seen nothing) since \d/.test(sentence), sentence);
  holds((await page.locator("li:has-text('kitchen') .sees svg rect").count()) >= 1, "there is no strip");
  // Where it sees one is on a map, if it sees a place: the circle that it was sent, or all places that its view joins.
  await page.selectOption("form [name=view]", "whole");
  await page.fill("form [name=name]", "hall");
  await page.click("form.card button");
  await page.waitForSelector("li:has-text('hall') .sees strong");
  for (const name of ["kitchen", "hall"]) {
    const card = page.locator(`li:has(h2:text-is('${name}'))`);
    await card.locator(".sees .map :is(.shape, .spot)").first().waitFor({ state: "attached" });
    const said = await card.locator(".sees strong").textContent();
    holds(said.startsWith(`${name} sees: ${name === "hall" ? "home" : "in"} since`), said);
  }
  // For the owner alone: what this application cannot tell apart.
  await page.waitForSelector("li:has-text('kitchen') .sees p:has-text('you could be at')");
  const apart = await page.textContent("li:has-text('kitchen') .sees p.quiet");
  holds(/^For this app you could be at (home or clinic|clinic or home): it cannot tell which\.$/.test(apart), apart);
  const painted = await page.locator("li:has-text('kitchen') .sees svg rect:has(title)").first().getAttribute("fill");
  const own = await page.evaluate(async () => Object.values(await (await fetch("v1/owner/people/jane/colours")).json()));
  holds(!own.includes(painted), "what joins two places has the colour of one");
  await page.click("[aria-label='Details: kitchen']");
  await page.waitForSelector(".gets pre");
  await seen("gets");
  const shown = await page.locator(".gets pre").allTextContents();
  const person = encodeURIComponent(await page.inputValue("form [name=person]"));
  const headers = { Authorization: `Bearer ${secret}` };
  const now = await (await fetch(`${address}/v1/people/${person}/now`, { headers })).text();
  const again = await (await fetch(`${address}/v1/people/${person}/releases?format=csv`, { headers })).text();
  const lines = shown[2].trim().split(/\r?\n/);
  holds(lines.every((line) => again.includes(line)), "what it gets is not what it is sent");
  holds(now.startsWith("{"), "the token does not read");
  holds(!shown.join("").includes("clinic"), "a place that is joined with another is told by its name");

  // A phone takes all that it needs from one link, which is also its code.
  await page.selectOption("form select:has(option[value=source])", "source");
  await page.fill("form [name=name]", "pocket");
  await page.click("form.card button");
  await page.waitForSelector(".scanned a[href^='owntracks:///config?inline=']");
  const inline = new URL(await page.getAttribute(".scanned a", "href")).searchParams.get("inline");
  const phone = JSON.parse(Buffer.from(inline, "base64").toString());
  const code = await page.inputValue(".once input");
  holds(phone._type === "configuration" && phone.mode === 3 && phone.auth && phone.url === `${address}/pub`
    && phone.username === person && phone.password === code, `a phone is told ${JSON.stringify(phone)}`);
  holds((await page.getAttribute(".scanned .qr", "aria-label")).endsWith("pocket"), "the code is not of this phone");
  await page.waitForSelector(".once [role=status]:has-text('Waiting for the phone')");
  const sent = await fetch(phone.url, { method: "POST",
    headers: { Authorization: `Basic ${Buffer.from(`${phone.username}:${phone.password}`).toString("base64")}` },
    body: JSON.stringify({ _type: "location", lat: 48.1, lon: 11.5, tst: Math.floor(Date.now() / 1000) }) });
  holds(sent.status === 200, `with these settings a phone is answered ${sent.status}`);
  await seen("phone-token");

  expectErrors(1);
  await page.click("[aria-label='Remove: friends']");
  await page.waitForSelector("[aria-labelledby=views] .problem");

  await page.click(".once .acts .quiet"); // it was copied
  await page.waitForSelector(".once", { state: "detached" });
  const link = `${address}/page#gets=${secret}`;
  await page.goto("about:blank");
  await page.context().clearCookies();
  await page.goto(link);
  // For a friend: a sentence and a strip, and every byte of it below.
  await page.waitForSelector(".own-gets .sees strong");
  holds(/^This app (sees: (in|busy|out)|has seen nothing) since /.test(await page.textContent(".own-gets .sees strong")), "there is no sentence");
  const fills = await page.locator(".own-gets .sees svg rect:has(title)").evaluateAll((all) => all.map((one) => one.getAttribute("fill")));
  holds(fills.length >= 1 && fills.every((one) => one.startsWith("#")), `a place has no colour: ${fills}`);
  holds(!(await page.content()).includes("clinic"), "a friend is told which places a view joins");
  await page.click(".own-gets summary");
  await page.waitForSelector(".own-gets pre");
  holds(!page.url().includes(secret), "the token stays in the address");
  await seen("own-gets");
  await page.reload();
  expectErrors(1);
  await page.fill("[name=secret]", "not a token");
  await page.click("form button");
  await page.waitForSelector(".problem");
  await page.fill("[name=secret]", secret);
  await page.click("form button");
  await page.waitForSelector(".own-gets .sees strong");
});
