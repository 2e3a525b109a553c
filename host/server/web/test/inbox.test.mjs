// The inbox: signing in, questions, answers.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { launch, Server, tab } from "./harness.mjs";

let server, browser;
before(async () => { server = await new Server().start(); browser = await launch(); });
after(async () => { await browser?.close(); await server?.end(); });

const text = { type: "string" };
const form = {
  type: "object",
  required: ["name", "seats", "size"],
  properties: {
    name: { type: "string", title: "Name", minLength: 2 },
    mail: { type: "string", format: "email", title: "E-mail" },
    seats: { type: "integer", minimum: 1, maximum: 8, title: "Seats" },
    size: { type: "string", enum: ["s", "m", "l"], enumNames: ["Small", "Middle", "Large"], title: "Size" },
    extras: { type: "array", items: { type: "string", enum: ["tea", "cake"] }, title: "Extras" },
    window: { type: "boolean", title: "At a window" },
  },
};

test("a link signs one browser in, once, and its code does not stay in the address", async () => {
  const page = await tab(browser, server, { token: null, at: new URL(server.inbox).hash && `/${new URL(server.inbox).hash}` });
  await page.getByRole("heading", { name: "Inbox" }).waitFor();
  assert.equal(new URL(page.url()).hash, "");
  const other = await tab(browser, server, { token: null, at: `/${new URL(server.inbox).hash}` });
  await other.getByText("the link was used").waitFor();
  assert.deepEqual([page.problems, other.problems], [[], []]);
  await page.context().close();
  await other.context().close();
});

test("a token is asked for, a wrong one is refused, and the page that was wanted comes after it", async () => {
  const id = await server.ask("Which town?", text);
  const page = await tab(browser, server, { token: null, at: `/q/${id}/1` });
  await page.getByLabel("Token").fill("lh_000000000000_nothing");
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByText("unknown, revoked or expired").waitFor();
  await page.getByLabel("Token").fill(server.token);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: "Which town?" }).waitFor();
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.context().close();
  await server.call("POST", `/v1/tasks/${id}/cancel`);
});

for (const [kind, schema, act, expected] of [
  ["confirm", { type: "boolean" }, (page) => page.getByRole("button", { name: "Yes" }).click(), true],
  ["text", text, async (page) => { await page.getByLabel("Your answer").fill("Łódź"); await answer(page); }, "Łódź"],
  ["choose one", { type: "string", oneOf: [{ const: "a", title: "Apples" }, { const: "b", title: "Pears" }] },
    async (page) => { await page.getByLabel("Pears").check(); await answer(page); }, "b"],
  ["choose many", { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, minItems: 2 },
    async (page) => {
      await page.getByLabel("z", { exact: true }).check();
      await answer(page);
      await page.getByText("Choose at least 2").waitFor();
      await page.getByLabel("x", { exact: true }).check();
      await answer(page);
    }, ["x", "z"]],
  ["number", { type: "number", maximum: 10 }, async (page) => {
    await page.getByLabel("Your answer").fill("11");
    await answer(page);
    await page.getByText("10 or less").waitFor();
    await page.getByLabel("Your answer").fill("9.5");
    await answer(page);
  }, 9.5],
  ["form", form, async (page) => {
    await page.getByLabel("Name", { exact: true }).fill("A");
    await page.getByLabel("E-mail").fill("nobody");
    await page.getByLabel("Seats").fill("9");
    await answer(page);
    for (const wrong of ["At least 2 characters", "no e-mail address", "8 or less", "An answer is needed"]) await page.getByText(wrong).waitFor();
    await page.getByLabel("Name", { exact: true }).fill("Ada");
    await page.getByLabel("E-mail").fill("ada@example.com");
    await page.getByLabel("Seats").fill("3");
    await page.getByLabel("Middle").check();
    await page.getByLabel("cake").check();
    await page.getByLabel("No", { exact: true }).check();
    await answer(page);
  }, { name: "Ada", mail: "ada@example.com", seats: 3, size: "m", extras: ["cake"], window: false }],
]) {
  test(`a question of the kind ${kind} is answered`, async () => {
    const id = await server.ask(`Please: ${kind}`, schema, { detail: "With *care*." });
    const page = await tab(browser, server, { at: `/q/${id}/1` });
    await page.getByRole("heading", { name: `Please: ${kind}` }).waitFor();
    await act(page);
    await counted(page);
    const task = await server.ended(id);
    assert.deepEqual(task.output.structured.value, expected);
    assert.equal(task.output.structured.by, "first");
    assert.deepEqual(page.problems, []);
    await page.context().close();
  });
}

const counted = (page) => page.locator(".notice", { hasText: "Your answer counted" }).waitFor();
const answer = (page) => page.getByRole("button", { name: "Answer", exact: true }).click();

test("a question is declined with a reason", async () => {
  const id = await server.ask("Delete it all?", { type: "boolean" });
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByRole("button", { name: "Decline…" }).click();
  await page.getByLabel("Why not?").fill("not mine to say");
  await page.getByRole("button", { name: "Decline", exact: true }).click();
  await page.locator(".notice", { hasText: "not mine to say" }).waitFor();
  assert.equal((await server.ended(id)).output.structured.reason, "not mine to say");
  await page.context().close();
});

test("whoever comes second is told who was first, and with what", async () => {
  const id = await server.ask("Who is faster?", text);
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByLabel("Your answer").fill("I am");
  // While ours is on its way another one arrives.
  await page.route("**/answer", async (route) => {
    await server.call("POST", `/v1/tasks/${id}/questions/1/answer`, { value: "somebody", by: "Grace" });
    await route.continue();
  });
  await answer(page);
  await page.locator(".notice", { hasText: "Somebody else was first: answered by Grace (first): somebody" }).waitFor();
  await page.context().close();
});

test("a more pressing question does not take the place of the one that is being answered", async () => {
  const first = await server.ask("The one that is read?", text);
  const page = await tab(browser, server);
  await page.getByRole("heading", { name: "The one that is read?" }).waitFor();
  await page.getByLabel("Your answer").fill("half an ans");
  const second = await server.ask("The pressing one?", text, { timeout_ms: 600_000 });
  await page.locator(".item", { hasText: "The pressing one?" }).waitFor();
  assert.equal(await page.locator(".question h2").textContent(), "The one that is read?");
  // What was written is there again after a look at the other one.
  await page.locator(".item", { hasText: "The pressing one?" }).click();
  await page.getByRole("heading", { name: "The pressing one?" }).waitFor();
  assert.equal(await page.getByLabel("Your answer").inputValue(), "");
  await page.locator(".item", { hasText: "The one that is read?" }).click();
  await page.getByRole("heading", { name: "The one that is read?" }).waitFor();
  assert.equal(await page.getByLabel("Your answer").inputValue(), "half an ans");
  await answer(page);
  await counted(page);
  await page.getByRole("link", { name: "Next: The pressing one?" }).click();
  await page.getByRole("heading", { name: "The pressing one?" }).waitFor();
  assert.equal((await server.ended(first)).output.structured.value, "half an ans");
  await server.call("POST", `/v1/tasks/${second}/cancel`);
  await page.context().close();
});

test("an answer that could not be sent stays, and is sent when the server is there again", async () => {
  const id = await server.ask("Is anybody there?", text);
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByLabel("Your answer").fill("I am");
  await server.kill();
  await answer(page);
  await page.getByRole("alert").filter({ hasText: "It was not sent: the server cannot be reached" }).waitFor();
  await page.getByText("This page tries again by itself").waitFor();
  await server.again();
  await page.getByText("This page tries again by itself").waitFor({ state: "detached" });
  assert.equal(await page.getByLabel("Your answer").inputValue(), "I am");
  await answer(page);
  await counted(page);
  assert.equal((await server.ended(id)).output.structured.value, "I am");
  await page.context().close();
});

test("whoever's token is revoked is signed out, told why, and finds what they wrote when they are back", async () => {
  const id = await server.ask("Who are you?", text);
  const page = await tab(browser, server, { at: `/q/${id}/1`, token: null });
  const signIn = async () => {
    const token = server.makeToken("Guest", ["tasks", "answer"]);
    await page.getByLabel("Token").fill(token);
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: "Who are you?" }).waitFor();
    return token.split("_")[1];
  };
  const token = await signIn();
  await page.getByLabel("Your answer").fill("nobody in particular");
  server.cli("token", "revoke", token);
  // What it listens to ends by itself.
  await page.getByText("the token has expired or was revoked").waitFor();
  assert.equal(await page.getByText("Who are you?").count(), 0);
  await signIn();
  assert.equal(await page.getByLabel("Your answer").inputValue(), "nobody in particular");
  await answer(page);
  await counted(page);
  assert.equal((await server.ended(id)).output.structured.by, "Guest");
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("a link to a question that was answered long ago says by whom", async () => {
  const id = await server.ask("Are we late?", text);
  await server.call("POST", `/v1/tasks/${id}/questions/1/answer`, { value: "yes, you are", by: "Grace" });
  await server.ended(id);
  for (const token of [server.token, server.makeToken("Late", ["answer"])]) {
    const page = await tab(browser, server, { at: `/q/${id}/1`, token });
    await page.locator(".notice", { hasText: "answered by Grace (first): yes, you are" }).waitFor();
    await page.getByRole("heading", { name: "Are we late?" }).waitFor();
    assert.deepEqual(page.problems, []);
    await page.context().close();
  }
});

test("a question that others answer leaves the list at once, and stays on the screen with its reply", async () => {
  const id = await server.ask("Still open?", text);
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByLabel("Your answer").waitFor();
  await server.call("POST", `/v1/tasks/${id}/questions/1/answer`, { value: "no longer", by: "Grace" });
  await page.locator(".notice", { hasText: "answered by Grace (first): no longer" }).waitFor();
  await page.getByRole("link", { name: /Still open/ }).waitFor({ state: "detached" });
  await page.context().close();
});

test("new questions come by themselves, the nearest deadline first, counted in the title", async () => {
  const page = await tab(browser, server);
  await page.getByText("Nobody waits for an answer").waitFor();
  const ids = [await server.ask("Later", text, { timeout_ms: 3_600_000 }), await server.ask("Whenever", text), await server.ask("Soon", text, { timeout_ms: 300_000 })];
  await page.waitForFunction(() => document.querySelectorAll(".item").length === 3);
  assert.deepEqual(await page.locator(".item .prompt").allTextContents(), ["Soon", "Later", "Whenever"]);
  assert.match(await page.locator(".item").first().textContent(), /4 min|5 min/);
  await page.waitForFunction(() => document.title.startsWith("(3)"));
  // By keyboard alone: to the second question, and answered.
  await page.getByRole("link", { name: /Later/ }).focus();
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Later" }).waitFor();
  await page.getByLabel("Your answer").focus();
  await page.keyboard.type("by keys");
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await counted(page);
  // Keys go on from where the button was.
  await page.locator(".notice:focus").waitFor();
  await page.waitForFunction(() => document.title.startsWith("(2)"));
  for (const id of ids) await server.call("POST", `/v1/tasks/${id}/cancel`);
  await page.context().close();
});

test("a browser's notice is shown to who asked for it and looks elsewhere", async () => {
  const page = await tab(browser, server, { permissions: ["notifications"] });
  // What is there already when the page begins is no news.
  await page.locator(".list :is(.empty, .item)").first().waitFor();
  await page.evaluate(() => {
    globalThis.notices = [];
    globalThis.Notification = class { static permission = "granted"; static requestPermission = async () => "granted"; constructor(title) { globalThis.notices.push(title); } };
    Object.defineProperty(document, "hidden", { get: () => true });
  });
  await page.getByRole("button", { name: "Notify me" }).click();
  await page.getByRole("button", { name: "Notifications on" }).waitFor();
  const id = await server.ask("Psst", text);
  await page.waitForFunction(() => globalThis.notices.includes("Psst"));
  await server.call("POST", `/v1/tasks/${id}/cancel`);
  await page.context().close();
});

test("whoever may only answer can answer, and sees nothing else", async () => {
  const id = await server.ask("Only this?", { type: "boolean" }, { detail: "The detail." });
  const page = await tab(browser, server, { token: server.makeToken("Desk", ["answer"]), at: `/q/${id}/1` });
  await page.getByText("answers only").waitFor();
  await page.getByText("The detail.").waitFor();
  await page.getByText("Who asks, and what it may do").click();
  await page.locator(".needs td", { hasText: "not granted" }).first().waitFor();
  for (const link of ["Tasks", "Plugins", "The whole task"]) assert.equal(await page.getByRole("link", { name: link }).count(), 0, link);
  // It comes and goes by itself for them too.
  const other = await server.ask("And this?", { type: "boolean" });
  await page.getByRole("link", { name: /And this/ }).waitFor();
  await server.call("POST", `/v1/tasks/${other}/questions/1/answer`, { value: true, by: "Grace" });
  await page.getByRole("link", { name: /And this/ }).waitFor({ state: "detached" });
  await page.getByRole("button", { name: "No", exact: true }).click();
  await counted(page);
  assert.equal((await server.ended(id)).output.structured.by, "Desk");
  assert.equal(await page.getByRole("link", { name: /what the task does/ }).count(), 0);
  for (const at of [`/tasks/${id}`, "/tasks", "/plugins/probe"]) {
    await page.goto(server.url + at);
    await page.getByText("may answer questions, and see nothing else").waitFor();
  }
  assert.deepEqual(page.problems, []);
  await page.context().close();
});

test("tabs that nobody looks at hold no connection, and hear of questions all the same", async () => {
  const first = await tab(browser, server);
  const context = first.context();
  await context.addInitScript((secret) => sessionStorage.setItem("longhaul-token", secret), server.token);
  // As many as a browser has connections for one server, and more.
  const tabs = [first];
  const hide = (page, hidden) => page.evaluate((hidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }, hidden);
  for (let count = 0; count < 8; count += 1) {
    const page = count === 0 ? first : await context.newPage();
    if (count > 0) {
      await page.goto(`${server.url}/tasks`);
      tabs.push(page);
    }
    await page.locator("main h1").first().waitFor();
    await hide(page, true);
  }
  const id = await server.ask("Does anybody hear?", text);
  await first.waitForFunction(() => document.title.startsWith("("));
  const last = tabs.at(-1);
  await hide(last, false);
  await last.locator(".task-row", { hasText: "probe/ask" }).first().waitFor();
  await server.call("POST", `/v1/tasks/${id}/cancel`);
  await last.locator(".task-row .badge").first().filter({ hasText: "cancelled" }).waitFor();
  await context.close();
});
