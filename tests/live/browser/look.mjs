// Opens a report in Chromium, does what a reader does, and prints what was seen as one JSON object.
// Arguments: the URL of the page, that of one with more rows than are shown at once, the browser's path, and optionally
// a directory for screenshots.
import { chromium } from "playwright-core";

const [url, long, executablePath, pictures] = process.argv.slice(2);
const flags = [
  "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
  "--disable-component-update", "--disable-sync",
];
const seen = { errors: [], requests: [] };

function watch(page) {
  page.on("console", (message) => seen.errors.push(`${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => seen.errors.push(String(error)));
  page.on("dialog", (dialog) => { seen.errors.push(`dialog: ${dialog.message()}`); dialog.dismiss(); });
  page.on("request", (request) => seen.requests.push(request.url()));
  return page;
}

const column = (page, place) =>
  page.locator(`table.agents tbody tr:visible > :nth-child(${place})`).allTextContents();
const names = async (page) => page.locator("table.agents tbody tr:visible th a").allTextContents();
const sorts = (page) =>
  page.locator("table.agents thead th").evaluateAll((heads) => heads.map((head) => head.getAttribute("aria-sort")));
const head = (page, name) => page.getByRole("columnheader", { name }).getByRole("button");
// A page hears of a fragment that was followed (`hashchange`) only after the click or the navigation has ended.
const followed = (section) => section.first().waitFor().then(() => section.count(), () => 0);
const picture = (page, name) => pictures && page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });

// The ratio of WCAG 2.2 section 1.4.3 for every text on a ground of its own.
function contrasts() {
  const light = (color) => {
    const [r, g, b] = color.match(/[\d.]+/g).map(Number).map((each) => each / 255)
      .map((each) => (each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const ground = (node) => {
    for (let each = node; each; each = each.parentElement) {
      const color = getComputedStyle(each).backgroundColor;
      if (color !== "rgba(0, 0, 0, 0)") return color;
    }
    return "rgb(255, 255, 255)";
  };
  const ratio = (node) => {
    const [more, less] = [light(getComputedStyle(node).color), light(ground(node))].sort((a, b) => b - a);
    return (more + 0.05) / (less + 0.05);
  };
  return Math.min(...Array.from(document.querySelectorAll(".badge, .soft, .under, a, td, dt, caption, button"), ratio));
}

const browser = await chromium.launch({ executablePath, args: flags });
try {
  const page = watch(await browser.newPage({ viewport: { width: 1280, height: 900 } }));
  await page.goto(url);
  seen.title = await page.title();
  seen.names = await names(page);
  seen.sorts = await sorts(page);
  seen.shown = await page.locator("#shown").textContent();
  seen.elements = await page.evaluate(() =>
    Object.fromEntries(["script", "style", "img", "iframe", "a[href^='javascript']", "[onerror]", "[style]"].map(
      (what) => [what, document.querySelectorAll(what).length])));
  seen.tree = await page.locator("main").ariaSnapshot();
  seen.contrast = { light: await page.evaluate(contrasts) };
  await picture(page, "wide");

  await head(page, "Trust").click();
  seen.byTrust = { trust: await column(page, 2), sorts: await sorts(page), said: await page.locator("#said").textContent() };
  await head(page, "Trust").click();
  seen.byTrustAgain = { trust: await column(page, 2), sorts: await sorts(page) };
  await head(page, "Version").focus();
  await page.keyboard.press("Enter");
  seen.byVersion = await column(page, 4);
  await head(page, "Skills").click();
  seen.bySkills = await column(page, 5);
  await head(page, "Agent").click();
  seen.byName = await names(page);

  await page.getByLabel("Words that stand in the row").fill("orders EXAMPLE");
  seen.filtered = {
    names: await names(page),
    shown: await page.locator("#shown").textContent(),
    sections: await page.locator("details.agent:visible").count(),
  };
  await page.getByLabel("Words that stand in the row").fill("no such thing");
  seen.nothing = { names: await names(page), said: await page.locator("#none").isVisible() };
  await page.getByLabel("Words that stand in the row").fill("");
  await page.getByLabel("Trust").selectOption("CHANNEL");
  seen.channel = await names(page);
  await page.getByLabel("Trust").selectOption("");
  await page.getByLabel("Outcome").selectOption("bad-signature");
  seen.refused = await names(page);
  await page.getByLabel("Outcome").selectOption("");

  await page.getByRole("link", { name: "Orders", exact: true }).click();
  const open = page.locator("details.agent[open]");
  await followed(open);
  seen.opened = {
    count: await open.count(),
    text: await open.innerText(),
    focused: await page.evaluate(() => document.activeElement.textContent),
    signatures: await open.getByRole("table").getByRole("row").count(),
  };
  await picture(page, "opened");
  await open.getByRole("link", { name: "Back to the table" }).click();
  await page.waitForFunction(() => document.activeElement.id === "table").catch(() => {});
  seen.back = await page.evaluate(() => document.activeElement.id);
  await page.goto(url + "#a0");
  seen.linked = await followed(page.locator("#a0[open]"));
  seen.hostile = await page.locator("#a0").innerText();
  seen.pwned = await page.evaluate(() => window.pwned ?? null);
  seen.blocked = await page.evaluate(async () => {
    const tried = { fetch: await fetch("http://127.0.0.1:9/").then(() => "went out", (error) => error.name) };
    const script = document.createElement("script");
    script.textContent = "window.pwned = 1";
    document.body.append(script);
    tried.script = window.pwned ?? "did not run";
    return tried;
  });
  // What the browser says of the two that were just tried, which it says in its own time.
  for (let turn = 0; turn < 100 && seen.errors.length < 2; turn++) await page.waitForTimeout(50);
  seen.policy = seen.errors.splice(0);

  const phone = watch(await browser.newPage({ viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }));
  await phone.goto(url);
  await head(phone, "Skills").click();
  seen.phone = {
    width: await phone.evaluate(() => document.documentElement.scrollWidth),
    labels: await phone.locator("table.agents td:visible").first().evaluate((cell) => getComputedStyle(cell, "::before").content),
    tree: await phone.locator("table.agents").ariaSnapshot(),
    skills: await column(phone, 5),
    targets: await phone.locator("button:visible, input:visible, select:visible, summary:visible")
      .evaluateAll((all) => Math.min(...all.map((each) => each.getBoundingClientRect().height))),
  };
  await picture(phone, "phone");

  const dark = watch(await browser.newPage({ colorScheme: "dark" }));
  await dark.goto(url);
  seen.contrast.dark = await dark.evaluate(contrasts);
  await picture(dark, "dark");

  const plain = watch(await (await browser.newContext({ javaScriptEnabled: false })).newPage());
  await plain.goto(url);
  seen.plain = { rows: await plain.locator("table.agents tbody tr:visible").count(), controls: await plain.locator("#controls:visible").count() };

  const many = watch(await browser.newPage());
  await many.goto(long);
  const rows = many.locator("table.agents tbody tr:visible");
  const told = async () => [await rows.count(), await many.locator("#shown").textContent()];
  seen.many = [await told()];
  await many.goto(long + "#a502");
  seen.far = await followed(many.locator("#a502[open]"));
  await many.locator("#more").click();
  seen.many.push(await told());
  console.log(JSON.stringify(seen));
} finally {
  await browser.close();
}
