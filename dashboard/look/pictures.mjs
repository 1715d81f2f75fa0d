// The pictures of README and docs: each screen as its owner has it. `make pictures` runs it.
import { enter, folder, look, page } from "./browser.mjs";

const desk = { width: 1280, height: 800 };
const phone = { width: 390, height: 844 };

async function picture(name, size, scheme) {
  await page.setViewportSize(size);
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: "reduce" });
  await page.waitForTimeout(500);
  await page.screenshot({ path: `${folder}/${name}.png` });
}

/** At a slot of which something was withheld, so that it says why; at the first of the secret itself, if there is one. */
async function lookAtSilence() {
  const slot = await page.evaluate(async () => {
    const days = await (await fetch("/v1/owner/people/sam/days")).json();
    const { slots } = await (await fetch(`/v1/owner/people/sam/day?date=${days.last}`)).json();
    return slots.findIndex((one) => one.why !== null);
  });
  await page.focus(".strip [role=slider]");
  await page.keyboard.press("Home");
  for (let at = 0; at < slot; at += 1) await page.keyboard.press("ArrowRight");
  await page.evaluate(() => document.activeElement.blur());
}

await look(async () => {
  await enter();
  for (const [screen, ready] of [
    ["today", ".plot"],
    ["places", ".names small:has-text(' h in the last')"],
    ["secrets", "main h1"],
    ["applications", ".sees .map :is(.shape, .spot)"],
  ]) {
    await page.click(`a[href='#${screen}']`);
    await page.waitForSelector(`a[href='#${screen}'][aria-current]`);
    await page.waitForSelector(ready, { state: "attached" });
    if (screen === "today") await lookAtSilence();
    await picture(`page-${screen}`, desk, "light");
  }
  await page.click("a[href='#today']");
  await page.waitForSelector(".plot");
  await picture("page-phone", phone, "dark");
});
