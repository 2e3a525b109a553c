// What strangers write stays text, nothing comes from elsewhere, and everybody can use the pages.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { launch, serious, Server, tab } from "./harness.mjs";

let server, browser;
before(async () => { server = await new Server().start(); browser = await launch(); });
after(async () => { await browser?.close(); await server?.end(); });

const SCRIPT = `<script>globalThis.hurt=1</script><img src=x onerror="globalThis.hurt=1">`;
const HOSTILE = [
  SCRIPT,
  "[click](javascript:globalThis.hurt=1) <a href=\"javascript:globalThis.hurt=1\">x</a>",
  "![pixel](https://tracker.example/pixel.png) ![svg](data:image/svg+xml;base64,PHN2Zz4=)",
  "\u001b[31mred\u001b[0m \u001b]8;;https://evil.example\u0007link\u001b]8;;\u0007 \u001b[2J",
  "\u202Efdp.exe\u202C \u2066hidden\u2069 zero\u200Bwidth",
  `| a | b |\n|---|---|\n| ${SCRIPT} | [x](data:text/html,<script>1</script>) |`,
  "&lt;script&gt; is written so",
].join("\n\n");

test("hostile texts are shown as text, in every place where a plugin speaks", async () => {
  const prompt = `Trust me ${SCRIPT} \u202Etxt.exe \u001b[31mred`;
  const choice = `${SCRIPT}\u202E`;
  const schema = { type: "object", properties: { pick: { type: "string", enum: [choice, "b"], title: SCRIPT, description: SCRIPT }, note: { type: "string", title: "\u202Etitle" } } };
  const id = await server.ask(prompt, schema, { detail: HOSTILE });
  const deep = await server.ask("How deep?", { type: "boolean" }, { detail: `${"> ".repeat(5_000)}${SCRIPT}` });
  const failed = await server.task("panics", { message: HOSTILE }, { session: `${SCRIPT}\u202E` });
  await server.settled(failed);
  for (const [at, there] of [
    [`/q/${id}/1`, ".question .markdown"], [`/q/${deep}/1`, ".question pre"], ["/", ".item"], [`/tasks/${id}`, ".entry.question"], [`/tasks/${failed}`, ".entry.ended"],
    ["/tasks", ".task-row .bad"], [`/q/${encodeURIComponent(SCRIPT)}/1`, ".notice"], [`/plugins/${encodeURIComponent(SCRIPT)}`, ".notice"],
  ]) {
    const page = await tab(browser, server, { at });
    await page.locator(there).first().waitFor();
    assert.equal(await page.evaluate(() => globalThis.hurt), undefined, at);
    assert.equal(await page.locator("main script, main img, main iframe, main [onerror], main a[href^='javascript'], main a[href^='data:text']").count(), 0, at);
    assert.doesNotMatch(await page.locator("body").textContent(), /[\u001b\u202a-\u202e\u2066-\u2069\u200b]/, at);
    assert.deepEqual(page.problems, [], at);
    await page.context().close();
  }
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  const detail = await page.locator(".question").textContent();
  assert.match(detail, /<script>globalThis\.hurt=1<\/script>/);
  assert.match(detail, /U\+202E/);
  await page.context().close();
  await server.call("POST", `/v1/tasks/${id}/cancel`);
});

test("the page allows no code but its own, no frame around it, and keeps no cookie", async () => {
  for (const path of ["/", "/q/01abc/1", "/tasks", "/tasks/01abc", "/plugins", "/plugins/probe"]) {
    const response = await fetch(server.url + path);
    assert.equal(response.status, 200, path);
    const policy = response.headers.get("content-security-policy");
    for (const rule of ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'", "require-trusted-types-for 'script'"]) {
      assert.ok(policy.includes(rule), `${path}: ${policy}`);
    }
    assert.doesNotMatch(policy, /unsafe|https?:/);
    assert.equal(response.headers.get("x-frame-options"), "DENY");
    assert.equal(response.headers.get("set-cookie"), null);
    assert.doesNotMatch(await response.text(), /https?:\/\/(?!www\.w3\.org)|<style|<script>/);
  }
  assert.equal((await fetch(`${server.url}/assets/nothing.js`)).status, 404);
});

test("nothing of the page can be used without the token", async () => {
  for (const path of ["/v1/session", "/v1/questions", "/v1/tasks", "/v1/plugins/probe/needs"]) {
    assert.equal((await fetch(server.url + path)).status, 401, path);
  }
});

test("a page of elsewhere can neither hold the inbox in a frame nor make its browser act", async () => {
  const id = await server.ask("Shall we pay?", { type: "boolean" });
  const answer = `${server.url}/v1/tasks/${id}/questions/1/answer`;
  const evil = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<iframe id="frame" src="${server.url}/q/${id}/1"></iframe><iframe name="sink"></iframe>
      <form method="post" enctype="text/plain" action="${answer}" target="sink"><input name='{"value":true,"x":"' value='"}'></form>`);
  });
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  // Somebody who is signed in, in the same browser.
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByRole("heading", { name: "Shall we pay?" }).waitFor();
  const other = await page.context().newPage();
  const answered = [];
  other.on("response", (response) => answered.push([response.request().method(), response.status()]));
  await other.goto(`http://127.0.0.1:${evil.address().port}/`);
  const refused = await other.evaluate(async (answer) => {
    document.querySelector("form").submit();
    const tries = [];
    for (const type of ["application/json", "text/plain"]) {
      for (const mode of ["cors", "no-cors"]) {
        const init = { method: "POST", mode, credentials: "include", headers: { "content-type": type }, body: '{"value":true}' };
        tries.push(await fetch(answer, init).then((response) => (response.ok ? "done" : "refused"), () => "refused"));
      }
    }
    return tries;
  }, answer);
  assert.deepEqual([...new Set(refused)], ["refused"]);
  assert.ok(answered.some(([method]) => method === "POST"), "something was tried");
  assert.ok(answered.every(([method, status]) => method === "GET" || status >= 400), JSON.stringify(answered));
  const frame = other.frames().find((frame) => frame.parentFrame() && frame.name() !== "sink");
  assert.match(frame.url(), /^chrome-error:/);
  assert.equal((await server.call("GET", `/v1/tasks/${id}`)).body.state, "waiting");
  await page.context().close();
  await server.call("POST", `/v1/tasks/${id}/cancel`);
  evil.close();
});

for (const [name, options] of [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
]) {
  test(`axe finds nothing serious, and nothing sticks out: ${name}`, async () => {
    const schema = { type: "object", required: ["a"], properties: { a: { type: "string", enum: ["one", "two"] }, b: { type: "array", items: { type: "string", enum: ["x", "y"] } }, c: { type: "integer" }, d: { type: "string" } } };
    const id = await server.ask("A rather long question, such as people get when a tool has a lot to say about what it is about to do?", schema, {
      detail: "# Title\n\n| a | b |\n|---|---|\n| averyveryveryveryveryverylongwordthatdoesnotbreak | 2 |\n\n```\ncode that is rather long, longer than a phone is wide, and goes on\n```",
      timeout_ms: 3_600_000,
    });
    const failed = await server.task("panics", {});
    await server.settled(failed);
    const done = await server.task("parts", {});
    await server.ended(done);
    const all = ["/", `/q/${id}/1`, "/tasks", `/tasks/${id}`, `/tasks/${failed}`, `/tasks/${done}`, "/plugins", "/plugins/probe"];
    // In the dark only the colours are others.
    for (const at of name === "dark" ? all.filter((at) => at !== "/" && at !== "/plugins" && !at.endsWith(done)) : all) {
      const page = await tab(browser, server, { ...options, at });
      await page.locator("main :is(h1, h2):visible").first().waitFor();
      await page.waitForFunction(() => document.querySelector("main").textContent.length > 60);
      await page.evaluate(() => {
        document.querySelectorAll("details").forEach((one) => { one.open = true; });
        [...document.querySelectorAll("button")].filter((one) => one.textContent === "Start…").forEach((one) => one.click());
      });
      assert.deepEqual(await serious(page), [], `${name} ${at}`);
      const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      assert.ok(wide <= shown, `${name} ${at}: ${wide} > ${shown}`);
      assert.deepEqual(page.problems, [], at);
      await page.context().close();
    }
    const page = await tab(browser, server, { ...options, token: null });
    await page.getByLabel("Token").waitFor();
    assert.deepEqual(await serious(page), [], `${name} sign-in`);
    await page.context().close();
    await server.call("POST", `/v1/tasks/${id}/cancel`);
  });
}
