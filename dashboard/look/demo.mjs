// The page of `discreet demo`: understood from its first screen on a phone, and its badges speak of what was watched.
import { address, holds, look, page, seen } from "./browser.mjs";

await look(async () => {
  await page.goto(address);
  for (const [width, height] of [[1280, 900], [360, 740]]) {
    await page.setViewportSize({ width, height });
    await firstScreen();
  }
  await seen("demo");
  await slider();
});

/** All of the picture, and no mechanism's name. */
async function firstScreen() {
  const first = await page.evaluate(() => {
    const shown = (one) => one.checkVisibility() && one.getClientRects().length > 0 && one.getBoundingClientRect().top < innerHeight;
    const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    let words = "";
    while (texts.nextNode()) if (shown(texts.currentNode.parentElement)) words += `${texts.currentNode.data} `;
    return { words, strips: [...document.querySelectorAll(".story .ribbon, .story .guess")].filter(shown).length };
  });
  holds(first.strips === 5, `${first.strips} of 5 strips are on the first screen of a phone`);
  holds(!/NoMask|MaskSensitive|Adaptive|delta/.test(first.words), `the first screen names a mechanism: ${first.words}`);
}

async function slider() {
  const badges = () => page.locator("[data-mechanism] .verdict").allTextContents();
  const whole = await badges();
  const until = (slot) => page.locator("#seen").evaluate((input, value) => {
    input.value = value;
    input.dispatchEvent(new Event("input"));
  }, slot);
  await until(30); // 15:00
  for (const badge of await badges()) {
    const time = /at (\d\d:\d\d)/.exec(badge)?.[1];
    holds(time === undefined || time < "15:00", `at 15:00 a badge says ${badge}`);
  }
  await until(0);
  holds((await badges()).every((one) => one === "nothing was seen yet"), "something is said before anything is seen");
  holds((await page.locator("[data-mechanism] .chip.bad").count()) === 0, "a secret is given away before anything is seen");
  await until(48);
  holds(String(await badges()) === String(whole), "the whole day is judged otherwise than before");
}
