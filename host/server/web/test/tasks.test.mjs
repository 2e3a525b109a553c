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

const COUNT = ".task .beside > div > .progress .count";
/** A page of a task begins with the last five hundred entries, and shows those before them when it is asked to. */
async function wholeJournal(page) {
  const earlier = page.getByRole("button", { name: /^Show .* entries before these$/ });
  const shown = async () => (await shownLines(page)).reduce((sum, one) => sum + one.entries, 0);
  while (await earlier.count() > 0) {
    const before = await shown();
    await earlier.click();
    while (await shown() === before) await page.evaluate(() => new Promise(requestAnimationFrame));
  }
}
const shownLines = (page) => page.locator(".timeline .entry").evaluateAll((all) => all.map((one) => ({
  kind: one.className.replace("entry ", ""), entries: Number(one.querySelector(".run")?.textContent.replaceAll(",", "") ?? 1),
})));
/** Each entry that the journal has is there, once and in order; runs of progress are one line that counts them. */
async function isWhole(page, events) {
  const lines = await shownLines(page);
  assert.equal(lines.reduce((sum, one) => sum + one.entries, 0), events.length);
  const rest = (kind) => kind !== "progress" && kind !== "sleep";
  assert.deepEqual(lines.map((one) => one.kind).filter(rest), events.map((event) => event.kind).filter(rest));
}

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
  assert.match(first, /^[\d,]+ of 5,000$/);
  await page.waitForFunction(([count, first]) => {
    const number = (text) => parseInt(text.replaceAll(",", ""), 10);
    return number(document.querySelector(count).textContent) > number(first);
  }, [COUNT, first]);
  await page.getByRole("link", { name: "from-the-web" }).waitFor();
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
  const gone = /The connection is gone|The server cannot be reached/;
  await page.getByText(gone).first().waitFor();
  await list.getByText("The server cannot be reached").waitFor();
  await server.again();
  const asked = await server.ask("After the crash?", { type: "boolean" });
  await list.getByText("After the crash?").first().waitFor();
  await list.getByText("The server cannot be reached").waitFor({ state: "detached" });
  await page.waitForFunction(() => !/The connection is gone|The server cannot be reached/.test(document.body.textContent));
  await server.call("POST", `/v1/tasks/${id}/cancel`);
  await page.locator(".entry.ended").waitFor();
  await wholeJournal(page);
  await isWhole(page, await server.journal(id));
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
  await page.getByLabel("Search").fill("panics");
  await only("probe/panics");
  await page.getByLabel("Search").fill("");
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

test("an image is shown and saved, a file is saved, and what only calls itself an image never runs", async () => {
  const id = await server.task("pictures", {});
  const { output } = await server.ended(id);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  // One of them says that it is a PNG, and is a drawing with a script in it: no browser reads it as anything else.
  await page.waitForFunction(() => document.querySelectorAll(".result img").length === 1);
  await page.waitForFunction(() => document.querySelector(".result img").naturalWidth === 1);
  const buttons = page.getByRole("button", { name: /^Download/ });
  assert.equal(await buttons.count(), output.parts.length);
  for (const [index, part] of output.parts.entries()) {
    const [download] = await Promise.all([page.waitForEvent("download"), buttons.nth(index).click()]);
    assert.equal(download.suggestedFilename(), part.name);
    const chunks = [];
    for await (const chunk of await download.createReadStream()) chunks.push(chunk);
    assert.equal(Buffer.concat(chunks).toString("base64"), part.bytes);
  }
  assert.equal(await page.locator("main :is(svg, script, iframe, object, embed)").count(), 0);
  assert.equal(await page.evaluate(() => globalThis.hurt), undefined);
  assert.deepEqual(page.context().pages().length, 1);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a long journal begins with its end, and is there as a whole when one asks for it", async () => {
  const id = await server.task("steps", { steps: 600, sleep_ms: 1 });
  await server.ended(id);
  const events = await server.journal(id);
  assert.ok(events.length > 600, `${events.length} entries`);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  await page.locator(".entry.ended").waitFor();
  assert.equal(await page.locator(".entry.started").count(), 0);
  await wholeJournal(page);
  await isWhole(page, events);
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

test("an answer that is not to be shown is not in the journal's page, and another is", async () => {
  const password = await server.ask("Password?", { type: "string" }, { options: { sensitive: true } });
  const town = await server.ask("Which town?", { type: "string" });
  const page = await tab(browser, server);
  for (const [id, shown] of [[password, "(not shown)"], [town, "hunter2"]]) {
    const { status } = await server.call("POST", `/v1/tasks/${id}/questions/1/answer`, { value: "hunter2" });
    assert.equal(status, 200);
    await server.ended(id);
    await page.goto(`${server.url}/tasks/${id}`);
    await page.locator(".timeline .entry.reply", { hasText: `answered by first: ${shown}` }).waitFor();
  }
  await page.context().close();
});

test("children are a tree, a child's question is answered from its parent's page, and attempts are told of", async () => {
  const ask = ["probe/ask", { prompt: "A grandchild asks", schema: { type: "boolean" } }];
  const id = await server.task("family", { children: [["probe/family", { children: [ask] }]] });
  await server.settled(id);
  const page = await tab(browser, server, { at: `/tasks/${id}` });
  const tree = page.locator(".tree").first();
  await tree.getByRole("link", { name: "probe/family" }).waitFor();
  await tree.getByRole("button", { name: "more of probe/family" }).click();
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
  await page.getByLabel("Search").fill("OLDEST of");
  await rows(1);
  await page.locator(".task-row", { hasText: "the oldest of them" }).waitFor();
  await page.getByLabel("Search").fill("");
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
  await page.locator(".tasks-of a", { hasText: /^1 / }).waitFor();

  // The next version is started from now on; what the first one began stays with it.
  server.upgrade("csv-profile");
  await page.reload();
  await page.locator("h1", { hasText: "0.2.0" }).waitFor();
  const versions = page.getByRole("group", { name: "Versions" }).locator("tbody tr");
  assert.equal(await versions.count(), 2);
  const card = page.getByRole("region", { name: "Tool profile_csv" });
  await card.getByRole("button", { name: "Start…" }).click();
  await card.getByLabel("csv", { exact: true }).fill("a,b\n1,2\n");
  // What may be left out is a choice like any other.
  await card.getByLabel("comma", { exact: true }).check();
  await card.getByRole("button", { name: "Start", exact: true }).click();
  await page.getByRole("heading", { name: "csv-profile/profile_csv" }).waitFor();
  const newer = new URL(page.url()).pathname.split("/").at(-1);
  assert.equal((await server.settled(newer)).version, "0.2.0");
  assert.equal((await server.call("GET", `/v1/tasks/${newer}/input`)).body.decimal, "comma");
  await server.call("POST", `/v1/tasks/${newer}/cancel`);
  await server.ended(newer);
  for (const [version, task] of [["0.2.0", newer], ["0.1.0", body.id]]) {
    await page.goto(`${server.url}/plugins/csv-profile`);
    await versions.filter({ hasText: version }).locator(".tasks-of a", { hasText: /^1 / }).click();
    await page.locator(`.task-row a[href="/tasks/${task}"]`).waitFor();
    assert.equal(await page.locator(".task-row").count(), 1);
  }
  await page.getByLabel("Any plugin").waitFor();
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a page that came over HTTP from another machine can start tasks too", async () => {
  const page = await tab(browser, server, { token: null });
  // What browsers keep from such pages.
  await page.addInitScript(() => {
    Object.defineProperty(Crypto.prototype, "randomUUID", { value: undefined });
    Object.defineProperty(Crypto.prototype, "subtle", { value: undefined });
    Object.defineProperty(Navigator.prototype, "clipboard", { value: undefined });
  });
  await page.goto(`${server.url}/plugins/probe`);
  await page.getByLabel("Token").fill(server.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  const card = page.getByRole("region", { name: "Tool noop" });
  await card.getByRole("button", { name: "Start…" }).click();
  await card.getByRole("button", { name: "Start", exact: true }).click();
  await page.locator(".entry.ended").waitFor();
  assert.equal(await page.getByRole("button", { name: /copy/ }).count(), 0);
  assert.deepEqual(page.problems, []);
  await page.context().close();
});
