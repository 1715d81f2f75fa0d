// The map: moved by wheel and keys, a place drawn anew by its rim, a name that waits, a secret that loses no ground.
import { enter, expectErrors, holds, look, page, seen } from "./browser.mjs";

/** Two fingers on the map, drawn apart. */
async function pinch(apart) {
  const hands = await page.context().newCDPSession(page);
  const { x, y, width, height } = await page.locator(".map .ground").boundingBox();
  const at = (side, away) => ({ x: x + width / 2 + (side * away) / 2, y: y + height / 2, id: side + 1 });
  const touch = (type, away) => hands.send("Input.dispatchTouchEvent", {
    type, touchPoints: type === "touchEnd" ? [] : [at(-1, away), at(1, away)],
  });
  await touch("touchStart", 80);
  for (let away = 80; away <= apart; away += 20) await touch("touchMove", away);
  await touch("touchEnd", apart);
}

const text = (selector) => page.textContent(selector);

await look(async () => {
  await enter();
  await page.click("a[href='#places']");
  await page.waitForSelector(".map .place");
  await page.waitForSelector(".stays li");
  await page.waitForSelector(".map .vectors path.water", { state: "attached" }); // the owner's own map, below the places
  await page.waitForSelector(".map .vectors path.main", { state: "attached" });
  await page.waitForSelector(".map text.town:has-text('Old Town')");
  await seen("places");

  const bar = () => text(".map .bar text");
  const wide = await bar();
  await page.focus(".map .ground");
  for (let k = 0; k < 4; k++) await page.keyboard.press("+");
  await page.waitForFunction((before) => document.querySelector(".map .bar text").textContent !== before, wide);
  await page.hover(".map .ground");
  await page.mouse.wheel(0, 300);
  await page.keyboard.press("0");
  await page.waitForFunction((before) => document.querySelector(".map .bar text").textContent === before, wide);
  await pinch(300);
  await page.waitForFunction((before) => document.querySelector(".map .bar text").textContent !== before, wide);
  await page.click("[aria-label='Show all places']");

  await page.click(".names .name:has-text('home')");
  await page.waitForSelector(".map .place.picked");
  await page.click("[aria-label='Change the shape: home, part 1']");
  const before = Number(await page.inputValue("[name=radius]"));
  const rim = await page.locator(".grip.rim").boundingBox();
  holds(rim !== null, "the rim cannot be seen");
  await page.mouse.move(rim.x + rim.width / 2, rim.y + rim.height / 2);
  await page.mouse.down();
  await page.mouse.move(rim.x + rim.width / 2 + 30, rim.y + rim.height / 2, { steps: 5 });
  await page.mouse.up();
  holds(Number(await page.inputValue("[name=radius]")) > before, "dragging the rim out makes no larger circle");
  await seen("places-drawing");
  await page.click(".draw button:has-text('Save')");
  await page.waitForSelector(".said");
  holds((await text(".said")).includes("In force"), "a shape is not in force at once");

  await page.click("text=Add an outline");
  const ground = await page.locator(".map .ground").boundingBox();
  for (const [x, y] of [[0.2, 0.2], [0.35, 0.2], [0.3, 0.4]])
    await page.mouse.click(ground.x + x * ground.width, ground.y + y * ground.height);
  holds((await page.inputValue("[name=corners]")).split("\n").length === 3, "three presses are not three corners");
  await page.fill("[name=name]", "garden");
  await page.reload();
  await page.waitForSelector(".draw");
  holds((await page.inputValue("[name=name]")) === "garden", "what was drawn is lost");
  await page.click(".draw button:has-text('Save')");
  await page.waitForSelector(".waiting");
  const waits = await page.locator(".names small:has-text('not in force yet')").count();
  holds(waits === 1, `${waits} places are not in force yet after one was drawn`);
  await seen("places-waiting");
  await page.click(".waiting button");
  await page.waitForSelector(".waiting", { state: "detached" });

  // A place has another name, which waits until it was learned, and two become one.
  await page.click(".names .name:has-text('market')");
  await page.fill(".one [name=to]", "bazaar");
  await page.click(".one button:has-text('Rename')");
  await page.waitForSelector(".waiting");
  await page.waitForSelector(".names .name:has-text('bazaar') small:has-text('not in force yet')");
  await page.selectOption(".one [name=into]", "library");
  await page.click(".one button:text-is('Merge')");
  await page.waitForSelector(".one p:has-text('Part 2 of 2')");
  holds((await page.locator(".names .name:has-text('bazaar')").count()) === 0, "a place that was merged is still there");
  await page.waitForSelector(".said:has-text('In force')"); // no name is new: apps knew of neither

  await page.click(".names .name:has-text('clinic')");
  await page.click("[aria-label='Change the shape: clinic, part 1']");
  await page.fill("[name=radius]", "20");
  expectErrors(1);
  await page.click(".draw button:has-text('Save')");
  await page.waitForSelector(".beside .problem");
  holds((await text(".beside .problem")).includes("is secret"), "a secret place lost ground");
  await page.click(".draw button:has-text('Cancel')");

  await page.click("[aria-label='Add as a place: stop 1']");
  holds((await page.inputValue("[name=latitude]")) !== "", "a stay is not where it is drawn");
});
