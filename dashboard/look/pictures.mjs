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

await look(async () => {
  await enter();
  for (const [screen, ready] of [
    ["today", "path.belief"],
    ["places", "main h1"],
    ["secrets", "main h1"],
    ["applications", "main form"],
  ]) {
    await page.click(`a[href='#${screen}']`);
    await page.waitForSelector(`a[href='#${screen}'][aria-current]`);
    await page.waitForSelector(ready);
    await picture(`page-${screen}`, desk, "light");
  }
  await page.click("a[href='#today']");
  await page.waitForSelector("path.belief");
  await picture("page-phone", phone, "dark");
});
