// Photographs of the main pages, for the documentation: `screenshots.mjs FOLDER`.

import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { launch, Server, tab } from "./harness.mjs";

const [, , folder] = process.argv;
const demo = (name) => readFile(new URL(`../../../../xtask/demo/${name}`, import.meta.url), "utf8");

const server = await new Server(["probe", "checklist", "csv-profile"]).start();
const browser = await launch();
try {
  const start = async (plugin, tool, input, session) => {
    const { body } = await server.call("POST", "/v1/tasks", { plugin, tool, input, session });
    return body.id;
  };
  const runbook = await start("checklist", "run_checklist", JSON.parse(await demo("runbook.json")), "deploys/2026-11");
  const csv = await start("csv-profile", "profile_csv", { csv: await demo("orders.csv") }, "reports/monthly");
  await server.settled(csv);
  // As somebody who answers whatever the profile asks.
  for (;;) {
    const task = await server.settled(csv);
    if (task.ended_at || task.questions.length === 0) break;
    const { question, answer } = task.questions[0];
    const value = answer.enum?.[0] ?? answer.oneOf?.[0]?.const ?? true;
    await server.call("POST", `/v1/tasks/${csv}/questions/${question}/answer`, { value, by: "Ada" });
  }
  await server.task("steps", { steps: 9_000, sleep_ms: 30 }, { session: "nightly" });
  await server.task("fail", { kind: "failed", message: "the upstream table has no column `region`" }, { session: "nightly" }).catch(() => {});
  await server.ask("Refund order 10 482 to Grace Hopper?", { type: "object", required: ["amount", "why"], properties: {
    amount: { type: "number", title: "Amount in EUR", minimum: 0, maximum: 120, default: 59.9 },
    why: { type: "string", title: "Reason", enum: ["late", "damaged", "other"], enumNames: ["It came late", "It was damaged", "Something else"] },
    note: { type: "string", title: "Note to the customer", maxLength: 100 },
  } }, {
    detail: "The parcel was handed over **nine days** after the promised date.\n\n| item | price |\n|---|---|\n| Desk lamp | 39.90 € |\n| Bulb, 3 pieces | 20.00 € |",
    timeout_ms: 42 * 60_000,
    options: { audience: "support" },
  });
  await server.settled(runbook);
  const asked = (await server.call("GET", "/v1/questions")).body.questions[0];
  const pages = { inbox: `/q/${asked.task}/${asked.question}`, tasks: "/tasks", task: `/tasks/${csv}`, plugin: "/plugins/checklist" };
  const looks = {
    light: { colorScheme: "light", viewport: { width: 1200, height: 800 } },
    dark: { colorScheme: "dark", viewport: { width: 1200, height: 800 } },
    phone: { colorScheme: "light", viewport: { width: 390, height: 780 }, deviceScaleFactor: 1.5, isMobile: true },
  };
  for (const [look, options] of Object.entries(looks)) {
    for (const [name, at] of Object.entries(pages)) {
      const page = await tab(browser, server, { ...options, at });
      await page.locator({ inbox: ".question", tasks: ".task-row .count", task: ".entry.ended", plugin: ".needs, .card p" }[name]).first().waitFor();
      await page.screenshot({ path: join(folder, `web-${name}-${look}.png`), animations: "disabled" });
      await page.context().close();
    }
  }
} finally {
  await browser.close();
  await server.end();
}
