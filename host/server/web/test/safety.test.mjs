// What strangers write stays text, nothing comes from elsewhere, and everybody can use the pages.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { faults, launch, Server, tab } from "./harness.mjs";

let server, browser;
before(async () => {
  server = await new Server(["probe"], () => '[plugins.probe]\ntools = ["probe/noop", "probe/ask"]\n').start();
  browser = await launch();
});
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

test("a page of elsewhere can neither hold the inbox in a frame nor make its browser act", async (t) => {
  const id = await server.ask("Shall we pay?", { type: "boolean" });
  const answer = `${server.url}/v1/tasks/${id}/questions/1/answer`;
  const evil = createServer((_, response) => {
    response.setHeader("content-type", "text/html");
    response.end(`<iframe id="frame" src="${server.url}/q/${id}/1"></iframe><iframe name="sink"></iframe>
      <form method="post" enctype="text/plain" action="${answer}" target="sink"><input name='{"value":true,"x":"' value='"}'></form>`);
  });
  t.after(() => evil.close());
  await new Promise((resolve) => evil.listen(0, "127.0.0.1", resolve));
  // Somebody who is signed in, in the same browser.
  const page = await tab(browser, server, { at: `/q/${id}/1` });
  await page.getByRole("heading", { name: "Shall we pay?" }).waitFor();
  const other = await page.context().newPage();
  const answered = [];
  other.on("response", (response) => answered.push([response.request().method(), response.status()]));
  await other.goto(`http://127.0.0.1:${evil.address().port}/`);
  const posted = other.waitForResponse((response) => response.request().method() === "POST" && response.frame() !== other.mainFrame());
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
  // The form's too, which nothing above waits for.
  await posted;
  assert.ok(answered.every(([method, status]) => method === "GET" || status >= 400), JSON.stringify(answered));
  const frame = other.frames().find((frame) => frame.parentFrame() && frame.name() !== "sink");
  assert.match(frame.url(), /^chrome-error:/);
  assert.equal((await server.call("GET", `/v1/tasks/${id}`)).body.state, "waiting");
  await page.context().close();
  await server.call("POST", `/v1/tasks/${id}/cancel`);
});

for (const [name, options] of [
  ["light", { colorScheme: "light" }],
  ["dark", { colorScheme: "dark" }],
  ["phone", { colorScheme: "light", viewport: { width: 360, height: 740 }, isMobile: true, hasTouch: true }],
]) {
  test(`axe finds nothing on any page, and nothing sticks out: ${name}`, async () => {
    const long = "averyveryveryveryveryverylongwordthatdoesnotbreakanywhereandgoesonforlongerthanaphoneiswide";
    const schema = { type: "object", required: ["a"], properties: { a: { type: "string", enum: ["one", "two"] }, b: { type: "array", items: { type: "string", enum: ["x", "y"] } }, c: { type: "integer" }, d: { type: "string" } } };
    const id = await server.ask("A rather long question, such as people get when a tool has a lot to say about what it is about to do?", schema, {
      detail: `# Title\n\n| a | b |\n|---|---|\n| ${long} | 2 |\n\n\`\`\`\ncode that is rather long, longer than a phone is wide, and goes on\n\`\`\``,
      timeout_ms: 3_600_000,
    });
    const asked = await server.ask(long, { type: "boolean" });
    const failed = await server.task("panics", { message: long }, { session: long });
    await server.settled(failed);
    const done = await server.task("pictures", {});
    await server.ended(done);
    const parent = await server.task("family", { children: [["probe/noop", {}], ["probe/ask", { prompt: "A child asks", schema: { type: "boolean" } }]] });
    await server.settled(parent);
    const gone = await server.ask("Too late?", { type: "boolean" });
    await server.call("POST", `/v1/tasks/${gone}/questions/1/answer`, { value: true, by: "Grace" });
    const pages = {
      "/": ".item", [`/q/${id}/1`]: ".question .answer", [`/q/${asked}/1`]: ".question .answer", [`/q/${gone}/1`]: ".question .notice", "/q/none/1": ".notice",
      "/tasks": ".task-row .bad", "/tasks?session=nobody": ".empty", [`/tasks/${id}`]: ".entry.question", [`/tasks/${failed}`]: ".entry.ended",
      [`/tasks/${done}`]: ".result img", [`/tasks/${parent}`]: ".tree .badge", "/tasks/none": ".notice",
      "/plugins": ".plugin-row", "/plugins/probe": ".needs", "/plugins/none": ".notice",
    };
    const found = {};
    const look = async (page, what) => {
      const faulty = await faults(page);
      const [wide, shown] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
      if (wide > shown) faulty.push(`it is ${wide} wide, on a screen of ${shown}`);
      if (faulty.length > 0) found[what] = faulty;
    };
    const page = await tab(browser, server, options);
    for (const [at, there] of Object.entries(pages)) {
      await page.goto(server.url + at);
      await page.locator(there).first().waitFor({ state: at === "/" ? "visible" : "attached" });
      await page.evaluate(() => {
        document.querySelectorAll("details").forEach((one) => { one.open = true; });
        [...document.querySelectorAll("button")].filter((one) => one.textContent === "Start…").forEach((one) => one.click());
      });
      // What is drawn when it is opened is there.
      await page.waitForFunction(() => [...document.querySelectorAll("details")].every((one) => one.open && one.childElementCount > 1));
      await look(page, at);
    }
    // What one comes to by doing something.
    await page.goto(`${server.url}/q/${id}/1`);
    await page.getByLabel("c", { exact: false }).last().fill("many");
    await page.getByRole("button", { name: "Answer", exact: true }).click();
    await page.locator(".wrong").first().waitFor();
    await look(page, "a form that is wrong");
    await page.getByRole("button", { name: "Decline…" }).click();
    await page.getByLabel("Why not?").fill("no");
    await look(page, "declining");
    await page.getByRole("button", { name: "Decline", exact: true }).click();
    await page.locator(".notice.good").waitFor();
    await look(page, "declined");
    await page.goto(`${server.url}/tasks/${parent}`);
    await page.getByRole("button", { name: "Cancel…" }).click();
    await look(page, "cancelling");
    await page.getByRole("button", { name: "Sign out" }).click();
    await page.getByLabel("Token").fill("lh_000000000000_nothing");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").waitFor();
    await look(page, "sign-in");
    assert.deepEqual([found, page.problems], [{}, []]);
    await page.context().close();
    for (const one of [id, asked, parent]) await server.call("POST", `/v1/tasks/${one}/cancel`);
  });
}
