// An invitation, an account that is opened with it and sees to one person alone, and its end.
import { allow, enter, expectErrors, holds, look, page, password, seen } from "./browser.mjs";

const own = "a password of her own";

await look(async () => {
  await enter();
  await page.click("a[href='#applications']");
  await page.click("li:has(strong:text('jane')) >> text=Invite");
  const address = await page.textContent("code.address");
  holds(/#invited\/.{40,}$/.test(address), `no invitation: ${address}`);
  await seen("invited");
  await page.click("header >> text=Log out");
  await page.waitForSelector("[name=password]");

  await page.goto("about:blank");
  await page.goto(address);
  expectErrors(1);
  await page.fill("[name=chosen]", "password123");
  await page.click("form button");
  await page.waitForSelector("[role=alert]");
  await page.fill("[name=chosen]", own);
  await page.click("form button");
  await page.waitForSelector("header nav");
  holds(!page.url().includes("invited"), "the invitation stays in the address");
  holds((await page.locator("header select").count()) === 0, "somebody else can be chosen");
  holds((await page.locator("a.add").count()) === 0, "an account adds a person");
  await page.click("a[href='#applications']");
  await page.waitForSelector("text=End my account");
  await seen("own-account");
  await page.click("header >> text=Log out");

  await page.fill("[name=password]", password);
  await page.click("form button");
  await page.waitForSelector("header nav");
  await page.click("a[href='#applications']");
  await page.waitForSelector("text=has an account");
  await page.click("a[href='#today']");
  allow("404");
  await page.waitForSelector("h1");
  await page.click("header >> text=Log out");
  await page.fill("[name=name]", "jane");
  await page.fill("[name=password]", own);
  await page.click("form button");
  await page.waitForSelector("header nav");
  await page.click("a[href='#applications']");
  await page.click("text=End my account");
  await page.click("text=Remove it");
  await page.waitForSelector("[name=password]");
});
