// Tasks: started, followed, stopped, through reloads and the death of the server.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, Server, tab } from "./harness.mjs";

let server, browser;
before(async () => { server = await new Server(["probe", "csv-profile"]).start(); browser = await launch(); });
after(async () => { await browser?.close(); await server?.end(); });

const COUNT = ".task > .progress .count";

test("a task is started by a form, its progress moves without a reload, and it is cancelled", async () => {
  const page = await tab(browser, server, { at: "/plugins" });
  await page.getByRole("link", { name: "probe" }).click();
  const card = page.getByRole("region", { name: "Tool steps" });
  await card.getByRole("button", { name: "Start…" }).click();
  await card.getByLabel("steps", { exact: true }).fill("many");
  await card.getByLabel("sleep_ms").fill("25");
  await card.getByRole("button", { name: "Start", exact: true }).click();
  await card.getByText("This is no number").waitFor();
  await card.getByLabel("steps", { exact: true }).fill("5000");
  await card.getByLabel("Session").fill("from-the-web");
  await card.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: "probe/steps" }).waitFor();
  const first = await page.locator(COUNT).textContent();
  assert.match(first, /^\d+ of 5,000$/);
  await page.waitForFunction(([count, first]) => parseInt(document.querySelector(count).textContent, 10) > parseInt(first, 10), [COUNT, first]);
  await page.getByText("from-the-web").waitFor({ state: "attached" });
  await page.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Stop it" }).click();
  await page.locator(".task > header .badge", { hasText: "cancelled" }).waitFor();
  assert.equal(await page.getByRole("button", { name: "Cancel…" }).count(), 0);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a page that is reloaded in the middle stands where it stood", async () => {
  const id = await server.ask("Go on?", { type: "boolean" }, { detail: "Before the reload." });
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  await page.locator(".entry.question").waitFor();
  const before = await page.locator(".entry").allTextContents();
  await page.reload();
  await page.locator(".entry.question").waitFor();
  assert.deepEqual(await page.locator(".entry").allTextContents(), before);
  await page.getByRole("link", { name: "Go on?" }).first().click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.locator(".notice", { hasText: "Your answer counted" }).waitFor();
  await page.getByRole("link", { name: /what the task does/ }).click();
  await page.locator(".entry.ended").waitFor();
  await page.getByText("completed").first().waitFor();
  await page.context().close();
});

test("when the server is killed and comes back, an open page goes on by itself and misses nothing", async () => {
  const id = await server.task("steps", { steps: 2_000, sleep_ms: 20 });
  const list = await tab(browser, server);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  await page.locator(".entry").first().waitFor();
  await list.getByText("Nobody waits for an answer").waitFor();
  await server.kill();
  await page.getByText("The connection is gone").waitFor();
  await list.getByText("The server cannot be reached").waitFor();
  await server.again();
  const asked = await server.ask("After the crash?", { type: "boolean" });
  await list.getByText("After the crash?").first().waitFor();
  await list.getByText("The server cannot be reached").waitFor({ state: "detached" });
  await page.getByText("The connection is gone").waitFor({ state: "detached" });
  await server.call("POST", `/v1/tasks/${id}/cancel`);
  await page.locator(".entry.ended").waitFor();
  // Each entry that the journal has, once and in order; runs of progress are one line that counts them.
  const events = await server.journal(id);
  const lines = await page.locator(".timeline .entry").evaluateAll((all) => all.map((one) => ({
    kind: one.className.replace("entry ", ""), others: Number(one.querySelector(".others")?.textContent ?? 0),
  })));
  assert.equal(lines.reduce((sum, one) => sum + 1 + one.others, 0), events.length);
  const rest = (kind) => kind !== "progress" && kind !== "sleep";
  assert.deepEqual(lines.map((one) => one.kind).filter(rest), events.map((event) => event.kind).filter(rest));
  await server.call("POST", `/v1/tasks/${asked}/cancel`);
  await page.context().close();
  await list.context().close();
});

test("the list shows progress live, and is filtered by state, tool, session and text", async () => {
  const spins = await server.task("steps", { steps: 9_000, sleep_ms: 25 }, { session: "blue" });
  const fails = await server.task("panics", { message: "needle in a trap" }, { session: "red" });
  await server.settled(fails);
  const page = await tab(browser, server, { at: "/tasks" });
  const row = page.locator(".task-row", { hasText: "blue" });
  await row.locator(".count").waitFor();
  const first = await row.locator(".count").textContent();
  await page.waitForFunction((first) => document.querySelector(".task-row .count")?.textContent !== first, first);
  const only = async (expected) => page.waitForFunction((expected) => {
    const rows = [...document.querySelectorAll(".task-row .title")].map((one) => one.textContent);
    return rows.length > 0 && rows.every((one) => one === expected);
  }, expected);
  await page.getByLabel("State").selectOption("failed");
  await only("probe/panics");
  await page.getByLabel("State").selectOption("");
  await page.getByLabel("Session").fill("blue");
  await page.getByLabel("Session").press("Enter");
  await only("probe/steps");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Text").fill("panics");
  await only("probe/panics");
  await page.getByLabel("Text").fill("");
  await page.getByLabel("Tool").fill("steps");
  await page.getByLabel("Tool").press("Enter");
  await only("probe/steps");
  await server.call("POST", `/v1/tasks/${spins}/cancel`);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a result is read, and its files are downloaded as bytes", async () => {
  const id = await server.task("parts", {});
  await server.ended(id);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  await page.locator(".result em", { hasText: "marked" }).waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: /three\.bin/ }).click()]);
  assert.equal(download.suggestedFilename(), "three.bin");
  const chunks = [];
  for await (const chunk of await download.createReadStream()) chunks.push(chunk);
  assert.deepEqual([...Buffer.concat(chunks)], [0, 1, 255]);
  await page.getByText(`longhaul tasks replay ${id}`).waitFor();
  await page.context().close();
});

test("what a plugin needs and how far it is granted is shown", async () => {
  const page = await tab(browser, server, { at: "/plugins/probe" });
  await page.getByRole("heading", { name: "What it needs" }).waitFor();
  await page.locator(".needs td", { hasText: "not granted" }).first().waitFor();
  await page.goto(`${server.url}/plugins/csv-profile`);
  await page.getByText("It needs nothing from outside").waitFor();
  await page.context().close();
});
