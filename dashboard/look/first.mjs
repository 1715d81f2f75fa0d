// From nothing to a person who is served: a file is dropped, places are named, a secret is chosen, an application reads.
import { readFileSync } from "node:fs";
import { address, expectErrors, holds, look, page, password, seen, token } from "./browser.mjs";

const history = readFileSync(process.argv[5], "utf8");

/** A file dropped onto the page, as a person does it with a mouse. */
async function drop(name, text) {
  const data = await page.evaluateHandle(([name, text]) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([text], name));
    return transfer;
  }, [name, text]);
  await page.dispatchEvent(".drop", "dragover", { dataTransfer: data });
  await page.dispatchEvent(".drop", "drop", { dataTransfer: data });
}
const go = () => page.click(".go button:enabled");

await look(async () => {
  await page.goto(`${address}/`);
  await page.fill("[name=token]", token);
  await page.fill("[name=chosen]", password);
  await page.click("form button");
  await page.waitForSelector(".drop");

  expectErrors(1);
  await drop("holiday.jpg", "\u00ff\u00d8 no history");
  await page.waitForSelector("[role=alert]");
  holds((await page.textContent("[role=alert]")).includes("holiday.jpg"), "the error does not name the file");
  await drop("phone.csv", history);
  await page.waitForSelector(".files small");
  await page.fill("[name=person]", "jane");
  await page.fill("[name=zone]", "Europe/Paris");
  await seen("first-bring");
  await go();

  await page.waitForSelector(".found input", { timeout: 300_000 });
  holds(/readings from \d+ Jan \d{4} to \d+ Feb \d{4}/.test(await page.innerText("main")), "dates are not as people write them");
  await page.reload(); // where it stands survives
  await page.waitForSelector(".found input");
  await page.fill(".found li:nth-child(6) input", "hospital");
  await page.fill(".found li:nth-child(7) input", "hospital");
  await page.waitForSelector(".found em");
  await page.reload(); // names that are typed are kept
  await page.waitForSelector(".found em");
  holds((await page.inputValue(".found li:nth-child(6) input")) === "hospital", "a name that was typed is lost");
  await page.click(".found li:nth-child(5) button");
  await seen("first-places");
  await go();

  await page.waitForSelector("input[value=medical]", { timeout: 300_000 });
  holds(await page.isChecked("input[value=medical]"), "the suggestion is not proposed");
  await page.click("details:has(input[value=home]) summary");
  await page.check("input[value=home]"); // of which habits leave no doubt: not without a word
  await page.waitForSelector(".notice:has-text('home')");
  await page.uncheck("input[value=home]");
  await seen("first-secrets");
  const posted = [];
  page.on("request", (request) => request.method() === "POST" && posted.push(request.url()));
  await go();
  await page.waitForSelector(".working button");
  posted.length = 0;
  await page.click(".working button"); // Cancel ends the work, and accepts nothing
  await page.waitForSelector(".working", { state: "detached" });
  await page.waitForSelector("input[value=medical]:enabled");
  holds(posted.length === 0, `Cancel posted ${posted}`);
  await go();
  await page.waitForSelector("input[name=delta]:enabled", { timeout: 300_000 });
  await page.waitForSelector(".strip");
  await page.waitForSelector(".two .choice:nth-child(2) .picture svg", { timeout: 300_000 }); // both ways, each with its picture and its price
  holds(/may be false/.test(await page.textContent(".two")), "the price of another place is not said");
  await seen("first-costs");
  await page.locator("button[name=hold]:enabled").click({ timeout: 300_000 }); // once all choices are known
  await page.waitForSelector("div[role=status] input[name=held], .notice[role=status]", { timeout: 300_000 });
  const held = await page.locator("input[name=held]").count();
  holds(!held || /instead of/.test(await page.textContent("div[role=status]")), "the price of holding is not said");
  await go();

  await page.fill("[name=application]", "family");
  await page.click("input[type=checkbox]");
  await seen("first-application");
  await go();
  await page.waitForSelector(".once input", { timeout: 300_000 });
  await page.waitForSelector("h1:has-text('Running. First update at')");
  await page.waitForSelector(".countdown");
  holds((await page.locator(".once .qr").count()) === 2, "a token has no code");
  await page.locator(".tested button").click();
  await page.waitForSelector(".tested p");
  await seen("first-done");
  const secrets = await page.locator(".once input").evaluateAll((all) => all.map((one) => one.value));
  holds(secrets.length === 2, "there is no token of the phone");
  const headers = { Authorization: `Bearer ${secrets[0]}` };
  const reads = async () => (await fetch(`${address}/v1/people/jane/now`, { headers })).status;
  holds([200, 204].includes(await reads()), "the application's token does not read");
  await go();
  await page.waitForSelector("a[href='#today'][aria-current=page]");
  await page.waitForSelector("h1:has-text('Running. First update at')"); // and not a blank page
  // The weeks that were imported, as what would have been told: from the first minute, a day by its strip.
  await page.waitForSelector(".past li button:enabled", { timeout: 300_000 });
  await page.click(".past li button:enabled");
  await page.waitForSelector(".past .strip [role=slider]");
  await page.click(".past button:has-text('Previous week')");
  await page.waitForSelector(".past .strip", { state: "detached" });
  await page.focus(".past li button:enabled");
  await page.keyboard.press("Enter"); // by keys alone
  await page.waitForSelector(".past .strip [role=slider]");
  await seen("first-running");
  holds(!(await page.content()).includes(secrets[0]), "the secret stays on the page");
});
