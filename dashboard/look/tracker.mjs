// The first run in Home Assistant's frame: somebody is chosen by name, and what the recorder has of them is read.
import { address, holds, look, page, password, token } from "./browser.mjs";

await look(async () => {
  await page.goto(`${address}/`);
  const frame = page.frameLocator("iframe");
  await frame.locator("[name=token]").fill(token);
  await frame.locator("[name=chosen]").fill(password);
  await frame.locator("form button").click();
  const chosen = frame.locator("[name=tracker]");
  await chosen.locator("option", { hasText: "Jane's phone" }).waitFor({ state: "attached" });
  const names = await chosen.locator("option").allTextContents();
  holds(!names.some((name) => name.startsWith("jane ")), `what discreet releases is offered: ${names}`);
  await chosen.selectOption({ label: names.find((name) => name.startsWith("Jane's phone")) });
  await frame.getByRole("button", { name: "Read its history" }).click();
  await frame.locator(".files small").waitFor();
  await frame.getByText("discreet will follow Jane's phone").waitFor();
  holds(await frame.locator(".check input").first().isChecked(), "Home Assistant reports changes only");
  await frame.locator("[name=person]").fill("jane");
  await frame.locator("[name=zone]").fill("UTC");
  await frame.locator(".go button:enabled").click();
  await frame.locator(".found input").first().waitFor({ timeout: 60_000 });
  await page.reload(); // who was chosen is remembered
  await frame.locator(".found input").first().waitFor();
});
