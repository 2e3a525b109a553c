// What the tests of the web inbox share: a server of their own, and a real browser.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const BIN = given("LONGHAUL_BIN");
const COMPONENTS = given("LONGHAUL_COMPONENTS");
const AXE = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

function given(name) {
  const value = process.env[name];
  if (!value) throw new Error(`${name} is not set: run \`cargo xtask web-test\``);
  return value;
}

export const component = (name) => join(COMPONENTS, `${name}.wasm`);

/** A server with data of its own, which can be killed and started again. */
export class Server {
  constructor(plugins = ["probe"], policy = () => "") {
    this.plugins = plugins;
    this.data = mkdtempSync(join(tmpdir(), "longhaul-web-"));
    writeFileSync(join(this.data, "longhaul.toml"), policy(this.data));
  }

  async start(port) {
    const listen = `127.0.0.1:${port ?? await quietPort()}`;
    const plugins = this.plugins.flatMap((name) => ["--plugin", component(name)]);
    const args = ["--data", this.data, "serve", "--json", "--listen", listen, ...plugins];
    this.child = spawn(BIN, args, { stdio: ["ignore", "pipe", process.env.LONGHAUL_WEB_LOG ? "inherit" : "ignore"], env: environment() });
    const line = await new Promise((resolve, reject) => {
      createInterface(this.child.stdout).once("line", resolve);
      this.child.once("exit", (code) => reject(new Error(`longhaul serve ended with ${code}`)));
    });
    const told = JSON.parse(line);
    this.url = told.url;
    this.inbox = told.inbox;
    this.token = told.token ?? this.token;
    const page = await (await fetch(this.url)).text();
    assert.match(page, /\/assets\//, "the binary holds no inbox: `cargo xtask web`, then build it again");
    return this;
  }

  async kill() {
    const ended = new Promise((resolve) => this.child.once("exit", resolve));
    this.child.kill("SIGKILL");
    await ended;
  }

  async again() {
    return this.start(new URL(this.url).port);
  }

  async end() {
    if (this.child.exitCode === null && this.child.signalCode === null) await this.kill();
    rmSync(this.data, { recursive: true, force: true });
  }

  /** What the command line does with the same data, beside the server. */
  cli(...args) {
    const done = spawnSync(BIN, ["--data", this.data, ...args], { env: environment() });
    assert.equal(done.status, 0, done.stderr.toString());
    return done.stdout.toString().trim();
  }

  /** A token of those scopes. */
  makeToken(name, scopes) {
    return this.cli("token", "create", name, ...scopes.flatMap((scope) => ["--scope", scope]));
  }

  /** Installs the next version of a plugin: the same, but that it says 0.2.0 of itself where it said 0.1.0. */
  upgrade(name) {
    const bytes = readFileSync(component(name));
    let found = 0;
    for (let at = bytes.indexOf("0.1.0"); at >= 0; at = bytes.indexOf("0.1.0", at + 1)) {
      // Interfaces have versions too, behind an `@`.
      if (bytes[at - 1] !== 0x40) found += bytes.write("0.2.0", at) > 0;
    }
    assert.equal(found, 1, `${name} says its version once`);
    const file = join(this.data, `${name}.wasm`);
    writeFileSync(file, bytes);
    this.cli("plugin", "add", file);
  }

  async call(method, path, body) {
    const response = await fetch(this.url + path, {
      method,
      headers: { authorization: `Bearer ${this.token}`, "content-type": "application/json" },
      body: body === undefined ? undefined : JSON.stringify(body),
    });
    const text = await response.text();
    return { status: response.status, body: text ? JSON.parse(text) : undefined };
  }

  /** Starts a tool, and gives the task's id. */
  async task(tool, input, more = {}) {
    const { status, body } = await this.call("POST", "/v1/tasks", { plugin: "probe", tool, input, ...more });
    assert.equal(status, 202, JSON.stringify(body));
    return body.id;
  }

  /** Starts a task that asks, and waits until it does. */
  async ask(prompt, schema, more = {}) {
    const id = await this.task("ask", { prompt, schema, ...more });
    await this.settled(id);
    return id;
  }

  /** The task, when it has ended or asks something. */
  async settled(id) {
    const { body } = await this.call("GET", `/v1/tasks/${id}?wait=60s`);
    return body;
  }

  /** All of a task's events. */
  async journal(id) {
    const all = [];
    for (;;) {
      const { events } = (await this.call("GET", `/v1/tasks/${id}?after=${all.at(-1)?.seq ?? 0}`)).body;
      if (events.length === 0) return all;
      all.push(...events);
    }
  }

  async ended(id) {
    await this.call("POST", "/v1/wait", { tasks: [id], for: "all", wait: "60s" });
    return (await this.call("GET", `/v1/tasks/${id}`)).body;
  }
}

/** A port that no connection is given by chance while the server is away: systems take those from higher ones. */
async function quietPort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await new Promise((resolve) => {
      const tried = createServer().once("error", () => resolve(false));
      tried.listen(port, "127.0.0.1", () => tried.close(() => resolve(true)));
    });
    if (free) return port;
  }
}

function environment() {
  const { LONGHAUL_DATA, RUST_LOG, NO_COLOR, ...rest } = process.env;
  return rest;
}

export const launch = () => chromium.launch({
  executablePath: given("CHROMIUM"),
  args: [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--no-proxy-server",
  ],
});

/** A tab with a profile of its own. What went wrong in it, and what it asked of others, is in `tab.problems`. */
export async function tab(browser, server, { at = "/", token = server.token, ...options } = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 860 }, locale: "en-GB", timezoneId: "UTC", ...options });
  const page = await context.newPage();
  // Far more than any of it takes, on a machine that has much else to do.
  page.setDefaultTimeout(120_000);
  page.problems = [];
  page.on("pageerror", (error) => page.problems.push(`error: ${error.message}`));
  page.on("console", (message) => {
    // A server that is killed, and answers that are refusals, are the tests' own doing.
    if (message.type() === "error" && !/Failed to load resource/.test(message.text())) page.problems.push(message.text());
  });
  page.on("request", (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith("http") && url.origin !== server.url) page.problems.push(`asked elsewhere: ${url}`);
  });
  page.on("dialog", (dialog) => { page.problems.push(`dialog: ${dialog.message()}`); void dialog.dismiss(); });
  if (token) await page.addInitScript((secret) => { if (!sessionStorage.getItem("longhaul-token")) sessionStorage.setItem("longhaul-token", secret); }, token);
  await page.goto(server.url + at);
  return page;
}

/** What axe finds, of any weight. */
export async function faults(page) {
  await page.evaluate(await axe());
  return page.evaluate(async () => {
    const { violations } = await globalThis.axe.run(document, { resultTypes: ["violations"] });
    return violations.map(({ id, impact, nodes }) => ({ id, impact, at: nodes.slice(0, 3).map((node) => `${node.target}: ${node.failureSummary}`) }));
  });
}

let source;
async function axe() {
  const { readFile } = await import("node:fs/promises");
  return (source ??= await readFile(AXE, "utf8"));
}
