// A secret is declared by dragging and by keys, refused where it would hide nothing, previewed, stopped, and saved.
import { enter, expectErrors, holds, look, page, seen } from "./browser.mjs";

const chosen = () => page.$$eval("[role=option][aria-selected=true]", (found) => found.map((one) => one.dataset.slot));
const chip = (label) => page.locator(".chip", { hasText: new RegExp(`^${label}$`) }).click();
const button = (name) => page.getByRole("button", { name, exact: true });

await look(async () => {
  await enter();
  await page.click("a[href='#secrets']");
  await page.waitForSelector(".secrets .card");
  await seen("secrets");

  await page.setViewportSize({ width: 1280, height: 900 });
  await button("Add a secret").click();
  await chip("home");
  await button("No hours").click();
  const count = await page.locator("[role=option]").count();
  const cell = (slot) => page.locator(`[data-slot="${slot}"]`);
  await page.waitForSelector(".editor .problem"); // a secret of no hours, and then one that habits leave no doubt of
  await cell(0).click();
  await page.waitForFunction(() => document.querySelector(".editor .problem")?.textContent.includes("hides nothing"));

  await chip("home");
  await chip("work");
  await cell(0).click();
  holds((await chosen()).length === 0, "a second click does not take an hour back");
  const box = async (slot) => {
    const { x, y, width, height } = await cell(slot).boundingBox();
    return [x + width / 2, y + height / 2];
  };
  await page.mouse.move(...(await box(0)));
  await page.mouse.down();
  await page.mouse.move(...(await box(2)), { steps: 4 });
  await page.mouse.up();
  holds(String(await chosen()) === "0,1,2", `dragging chose ${await chosen()}`);
  await cell(2).focus();
  await page.keyboard.press("Space");
  await page.keyboard.press("End");
  await page.keyboard.press("Space");
  holds(String(await chosen()) === `0,1,${count - 1}`, `keys chose ${await chosen()}`);
  await page.fill(".editor [name=name]", "work at night");
  await page.getByLabel("How much more may a stranger find out?", { exact: true }).fill("4");
  await page.waitForFunction(() => document.querySelector(".editor legend + .delta") !== null
    && document.querySelector(".editor .rise") !== null && !document.querySelector(".editor .problem"));
  await seen("secrets-edited");
  await page.reload(); // what is typed is kept, also where one looks at another screen meanwhile
  await page.click("a[href='#applications']");
  await page.click("a[href='#secrets']");
  await page.waitForSelector(".editor .rise");
  holds((await page.inputValue(".editor [name=name]")) === "work at night", "a name that was typed is lost");
  holds(String(await chosen()) === `0,1,${count - 1}`, `hours that were chosen are lost: ${await chosen()}`);
  await button("Add to the draft").click();
  await page.waitForSelector(".mark");
  await page.reload();
  await page.waitForSelector(".draft"); // so is the draft, until it is discarded
  await button("Discard").click();
  await page.waitForSelector(".draft", { state: "detached" });
  await page.reload();
  await page.waitForSelector(".secrets .card");
  holds((await page.locator(".mark").count()) === 0, "a draft that was discarded is there again");

  // A window of two days is said to be one, and stays one under another name.
  const card = (name) => page.locator(".secrets li", { hasText: name });
  holds((await card("in two days").textContent()).includes("at some time of any 2 days in a row"), "its window is called a day");
  await button("Change in two days").click();
  holds((await page.textContent(".editor")).includes("at all in any 2 days in a row"), "its window is called a day where it is changed");
  await page.fill(".editor [name=name]", "at all in two days");
  await button("Add to the draft").click();
  await page.waitForSelector(".mark");
  holds((await card("at all in two days").textContent()).includes("at some time of any 2 days in a row"), "its window is lost");

  await button("Add a secret").click();
  await chip("work");
  await page.fill(".editor [name=name]", "work at night");
  await button("No hours").click();
  for (const slot of [0, 1, count - 1]) await cell(slot).click();
  await page.waitForFunction(() => document.querySelector(".editor .rise") && !document.querySelector(".editor .problem"));
  await button("Add to the draft").click();
  await page.waitForFunction(() => document.querySelectorAll(".mark").length === 2);

  await button("See what it would cost").click();
  await page.waitForSelector("progress");
  expectErrors(1); // it may be asked for once more when it has been stopped
  await button("Stop").click();
  await page.waitForSelector("progress", { state: "detached" });
  await button("See what it would cost").click();
  await page.waitForSelector(".cost table", { timeout: 300_000 }); // a process of its own computes it
  holds((await page.locator(".tried [role=slider]").count()) >= 1, "no real day is shown");
  await page.focus(".tried [role=slider]");
  await page.keyboard.press("End");
  await seen("secrets-preview");

  await button("Save").click();
  await page.waitForSelector(".saved");
  holds((await page.locator("h2").first().textContent()).startsWith("From "), "what was saved is not announced");
  await seen("secrets-saved");
});
