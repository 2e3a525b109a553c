// Tasks: started, followed, stopped, through reloads and the death of the server.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { launch, Server, tab } from "./harness.mjs";

const SECRET = "correct-horse-battery-staple";
const asked = [];
/** What plugins speak to. */
const peer = createServer((request, response) => {
  asked.push(request.url);
  response.end(`you said ${request.url}`);
});

let server, browser;
before(async () => {
  await new Promise((resolve) => peer.listen(0, "127.0.0.1", resolve));
  const host = `http://127.0.0.1:${peer.address().port}`;
  const secret = (data) => {
    const file = join(data, "secret");
    writeFileSync(file, SECRET, { mode: 0o600 });
    return JSON.stringify(file);
  };
  server = await new Server(["probe", "csv-profile"], (data) => `
    [secrets]
    desk = { file = ${secret(data)} }
    [plugins.probe]
    tools = ["probe/ask", "probe/family"]
    http = ["${host}"]
    secrets.token = { secret = "desk", to = ["${host}"], as = { query = "key" } }
  `).start();
  browser = await launch();
});
after(async () => { await browser?.close(); await server?.end(); peer.close(); });

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
  // A page begins with the last five hundred.
  const earlier = page.getByRole("button", { name: "Show what came before" });
  if (await earlier.count() > 0) {
    await earlier.click();
    await earlier.waitFor({ state: "detached" });
  }
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
  await only("probe/steps");
  // What is typed stays while the list moves.
  await page.getByLabel("Session").pressSequentially(" not yet", { delay: 150 });
  await page.locator(".empty").waitFor();
  assert.equal(await page.getByLabel("Session").inputValue(), "blue not yet");
  await page.getByRole("button", { name: "Clear" }).click();
  await page.getByLabel("Text").fill("panics");
  await only("probe/panics");
  await page.getByLabel("Text").fill("");
  await page.getByLabel("Tool").fill("steps");
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

test("an image is shown, and of files of other kinds none", async () => {
  const id = await server.task("parts", {});
  await server.ended(id);
  const page = await tab(browser, server, { token: null });
  const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  // No plugin of ours draws: what one would return stands beside what this one does.
  await page.route(`**/v1/tasks/${id}`, async (route) => {
    const task = await (await route.fetch()).json();
    const image = (mediaType) => ({ mediaType, name: mediaType, bytes: pixel });
    task.output.parts.push(image("image/png"), image("image/svg+xml"), image("text/html"));
    await route.fulfill({ json: task });
  });
  await page.evaluate((token) => sessionStorage.setItem("longhaul-token", token), server.token);
  await page.goto(`${server.url}/tasks/${id}`);
  await page.waitForFunction(() => document.querySelector(".result img")?.naturalWidth === 1);
  assert.equal(await page.locator(".result img").count(), 1);
  assert.equal(await page.getByRole("button", { name: /^Download/ }).count(), 4);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("an HTTP exchange is told of, and the secret that went with it is nowhere", async () => {
  const url = `http://127.0.0.1:${peer.address().port}/orders?id=7`;
  const id = await server.task("fetch", { url });
  const task = await server.ended(id);
  assert.equal(task.state, "completed", JSON.stringify(task.error));
  assert.ok(asked.some((one) => one.includes(SECRET)), "it was sent");
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  const exchange = page.locator(".entry.http");
  await exchange.getByText("200").waitFor();
  assert.match(await exchange.textContent(), /GET.*\/orders\?id=7.*received \d+ bytes/s);
  await page.locator(".result", { hasText: "[secret:" }).waitFor();
  assert.doesNotMatch(await page.content(), new RegExp(SECRET));
  const refused = await server.task("fetch", { url: "http://127.0.0.1:1/" });
  await server.ended(refused);
  await page.goto(`${server.url}/tasks/${refused}`);
  await page.locator(".entry.refused", { hasText: "127.0.0.1:1" }).waitFor();
  await page.context().close();
});

test("children are a tree, a child's question is answered from its parent's page, and attempts are told of", async () => {
  const ask = ["probe/ask", { prompt: "A grandchild asks", schema: { type: "boolean" } }];
  const id = await server.task("family", { children: [["probe/family", { children: [ask] }]] });
  await server.settled(id);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  const tree = page.locator(".tree").first();
  await tree.getByRole("link", { name: "probe/family" }).waitFor();
  await tree.getByRole("button", { name: /Show what probe\/family did/ }).click();
  await tree.getByRole("link", { name: "probe/ask" }).waitFor();
  await page.locator(".open").getByRole("link", { name: "A grandchild asks" }).click();
  await page.getByRole("button", { name: "Yes" }).click();
  await page.locator(".notice", { hasText: "Your answer counted" }).waitFor();
  assert.equal((await server.ended(id)).state, "completed");
  await page.goto(`${server.url}/tasks/${id}`);
  await page.locator(".entry.child", { hasText: "answered by first: yes" }).first().waitFor();
  await page.locator(".entry.child-ended").first().waitFor();

  const fails = await server.task("fail", { kind: "unavailable", message: "not now", retry_after_ms: 1, attempts: 1 });
  await server.ended(fails);
  await page.goto(`${server.url}/tasks/${fails}`);
  await page.locator(".entry.retry", { hasText: "not now" }).waitFor();
  await page.locator(".entry", { hasText: "attempt 2 begins" }).waitFor();
  await page.getByText("Limits", { exact: true }).click();
  assert.match(await page.locator(".usage tr", { hasText: "fuel" }).first().textContent(), /fuel.*100B|fuel.*100 ?G/);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a long list is shown in steps, searched as a whole, and goes on after the server was killed", async () => {
  const old = await server.task("fail", { kind: "failed", message: "the oldest of them" }, { session: "long" });
  await server.ended(old);
  for (let started = 0; started < 240; started += 20) {
    await Promise.all(Array.from({ length: 20 }, () => server.task("noop", {}, { session: "long" })));
  }
  const page = await tab(browser, server, { at: "/tasks?session=long" });
  const rows = (count) => page.waitForFunction((count) => document.querySelectorAll(".task-row").length === count, count);
  await rows(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await rows(200);
  await page.getByRole("button", { name: "Show more" }).click();
  await rows(241);
  assert.equal(await page.getByRole("button", { name: "Show more" }).count(), 0);
  await page.getByLabel("Text").fill("OLDEST of");
  await rows(1);
  await page.locator(".task-row", { hasText: "the oldest of them" }).waitFor();
  await page.getByLabel("Text").fill("");
  await rows(100);
  await server.kill();
  await server.again();
  // What happened while nobody was connected is there too.
  const newest = await server.task("steps", { steps: 9_000, sleep_ms: 25 }, { session: "long" });
  const row = page.locator(".task-row").first();
  await row.getByRole("link", { name: "probe/steps" }).waitFor();
  await row.locator(".count").waitFor();
  await server.call("POST", `/v1/tasks/${newest}/cancel`);
  await row.locator(".badge", { hasText: "cancelled" }).waitFor();
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("what a plugin needs and how far it is granted is shown, and its versions with their tasks", async () => {
  const page = await tab(browser, server, { at: "/plugins/probe" });
  await page.getByRole("heading", { name: "What it needs" }).waitFor();
  await page.locator(".needs td", { hasText: "not granted" }).first().waitFor();
  await page.locator(".needs tr", { hasText: "probe/family" }).locator("td", { hasText: /^granted$/ }).waitFor();
  await page.goto(`${server.url}/plugins/csv-profile`);
  await page.getByText("It needs nothing from outside").waitFor();
  await page.locator(".tasks-of", { hasText: "none" }).waitFor();
  const { body } = await server.call("POST", "/v1/tasks", { plugin: "csv-profile", tool: "profile_csv", input: { csv: "a,b\n1,2\n" } });
  await server.settled(body.id);
  await server.call("POST", `/v1/tasks/${body.id}/cancel`);
  await server.ended(body.id);
  await page.reload();
  await page.locator(".tasks-of a", { hasText: /^1 / }).click();
  await page.locator(".task-row", { hasText: "csv-profile/profile_csv" }).waitFor();
  assert.equal(await page.locator(".task-row").count(), 1);
  await page.getByLabel("Any plugin").waitFor();
  await page.context().close();
});
