// A place that is added, learned, looked at, started, undone and started again, without a command.
import { enter, holds, look, page, seen } from "./browser.mjs";

const text = (selector) => page.textContent(selector);
const learned = async () => {
  await page.click("text=Learn my routine with this map");
  await page.waitForSelector("button:has-text('Start on')", { timeout: 300_000 });
};

await look(async () => {
  await enter();
  await page.click("a[href='#places']");
  await page.waitForSelector("text=Learn my routine again");

  await page.click("text=Add a circle");
  await page.fill("[name=name]", "gym");
  await page.fill("[name=latitude]", "48.11");
  await page.focus("[name=name]");
  holds((await page.inputValue("[name=longitude]")) === "", "a longitude is made up");
  holds(await page.isDisabled(".draw button:has-text('Save')"), "half a position can be saved");
  await page.fill("[name=longitude]", "11.51");
  await page.fill("[name=radius]", "60");
  holds((await page.inputValue("[name=latitude]")) === "48.11" && (await page.inputValue("[name=longitude]")) === "11.51",
    "a number that was typed is lost");
  await page.click(".draw button:has-text('Save')");
  await page.waitForSelector(".waiting");
  holds(!(await text(".waiting")).includes("discreet learn") || !(await page.isVisible(".waiting pre")), "commands come first");

  await learned();
  const said = await text(".waiting");
  holds(said.includes("New for apps: gym."), said);
  holds(/If you start it now, it holds from \w+/.test(said), "it is not said from when");
  holds(said.includes("clinic: "), "it is not said what a stranger could guess");
  await seen("routine-found");
  if (await page.isVisible(".waiting input[type=checkbox]")) await page.check(".waiting input[type=checkbox]");
  await page.focus("button:has-text('Start on')");
  await page.keyboard.press("Enter"); // by keys alone
  await page.waitForSelector("h2:has-text('New routine from')");
  await seen("routine-coming");
  await page.reload();
  await page.waitForSelector("h2:has-text('New routine from')");
  await page.click(".waiting button:has-text('Undo')");
  await page.waitForSelector("h2:has-text('Not in force yet')");

  await learned();
  await page.click(".waiting button:has-text('Discard')");
  await page.waitForSelector("text=Learn my routine with this map");
  await page.click("text=Discard the new map");
  await page.waitForSelector("h2:has-text('Your routine')");
  holds((await page.locator(".names small:has-text('not in force yet')").count()) === 0, "a place still waits");
});
