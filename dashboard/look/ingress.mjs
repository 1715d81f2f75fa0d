// The page in a frame of Home Assistant's, below an ingress path: it is entered, it is live, and its cookie is its own.
import { address, holds, look, page, password, token } from "./browser.mjs";

const prefix = process.argv[5];

await look(async () => {
  await page.goto(`${address}/`);
  const frame = page.frameLocator("iframe");
  await frame.locator("[name=token]").fill(token);
  await frame.locator("[name=chosen]").fill(password);
  await frame.locator("form button").click();
  await frame.locator("header nav").waitFor();
  await frame.locator("a[href='#today'][aria-current=page]").waitFor();
  await frame.locator(".live:not(.off)").first().waitFor();
  const cookies = (await page.context().cookies()).filter((one) => one.name.includes("discreet"));
  holds(cookies.length === 1 && cookies[0].path === prefix, `the cookie is for ${JSON.stringify(cookies)}`);
  holds(cookies[0]?.httpOnly && cookies[0]?.sameSite === "Strict", "scripts or other sites have the cookie");
  await page.reload(); // the session goes on
  await frame.locator("header nav").waitFor();
});
