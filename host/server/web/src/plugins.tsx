// What is installed, what it needs and is granted, and a form to start one of its tools.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type Json, type Need, type Plugin, segment, type Task, type Tool } from "./api";
import { Fold, Reading, Said, To, WIDE, Wrong } from "./bits";
import { Field, focusWrong } from "./fields";
import { Markdown, Link } from "./markdown";
import { Data } from "./result";
import { collect, type Draft, draftOf, fields } from "./schema";
import { go, may, message } from "./state";
import { amount, bytes, clock, line, short } from "./text";

export function Plugins({ wanted }: { wanted: string | undefined }) {
  const [plugins, setPlugins] = useState<Plugin[]>();
  const [problem, setProblem] = useState<string>();
  useEffect(() => {
    call<{ plugins: Plugin[] }>("/v1/plugins").then((answer) => setPlugins(answer.plugins), (error) => setProblem(message(error)));
  }, []);
  const names = [...new Set(plugins?.map((plugin) => plugin.name))];
  if (wanted !== undefined) {
    const versions = plugins?.filter((plugin) => plugin.name === wanted || plugin.digest === wanted) ?? [];
    return (
      <section class="wide">
        <p class="back"><To href="/plugins">← Plugins</To></p>
        <Wrong text={problem} />
        {plugins === undefined && problem === undefined && <Reading />}
        {plugins && versions.length === 0 && <><h1>Plugin</h1><p class="notice">There is no such plugin here.</p></>}
        {versions[0] && <One plugin={versions[0]} older={versions.slice(1)} />}
      </section>
    );
  }
  return (
    <section>
      <h1>Plugins</h1>
      <Wrong text={problem} />
      {plugins === undefined && problem === undefined && <Reading />}
      {plugins?.length === 0 && <div class="empty"><p>Nothing is installed.</p><p class="quiet"><code>longhaul plugin add FILE</code> installs one.</p></div>}
      <ul class="rows">
        {names.map((name) => {
          const newest = plugins!.find((plugin) => plugin.name === name)!;
          return (
            <li key={name} class="plugin-row">
              <To href={`/plugins/${name}`} class="title"><Said text={name} /></To> <span class="quiet">{line(newest.version)}</span>
              <p><Said text={newest.manifest.description.split("\n")[0] ?? ""} /></p>
              <p class="quiet names">{newest.manifest.tools.map((tool) => line(tool.title ?? tool.name)).join(", ")}</p>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function One({ plugin, older }: { plugin: Plugin; older: Plugin[] }) {
  const [needs, setNeeds] = useState<Need[]>();
  const { manifest } = plugin;
  useEffect(() => {
    call<{ needs: Need[] }>(`/v1/plugins/${segment(plugin.digest)}/needs`).then((answer) => setNeeds(answer.needs), () => {});
  }, [plugin.digest]);
  return (
    <>
      <h1><Said text={plugin.name} /> <small>{line(plugin.version)}</small></h1>
      <div class="beside">
        <div>
          <Markdown text={manifest.description} />
          {needs && <section class="card"><h2>What it needs</h2><Needs needs={needs} /></section>}
          <section class="card"><h2>Versions</h2><Versions all={[plugin, ...older]} /></section>
        </div>
        <div class="aside">
          <details class="card" open={WIDE.matches}>
            <summary>Facts</summary>
            <dl class="facts">
              <dt>SHA-256</dt><dd><code class="digest">{plugin.digest}</code></dd>
              <dt>Size</dt><dd>{bytes(plugin.size)}</dd>
              {plugin.installed_at && <><dt>Installed</dt><dd>{clock(plugin.installed_at)}</dd></>}
              {manifest.license && <><dt>Licence</dt><dd><Said text={manifest.license} /></dd></>}
              {manifest.homepage && <><dt>Homepage</dt><dd><Link href={manifest.homepage} /></dd></>}
            </dl>
          </details>
        </div>
        <div>
          {manifest.tools.map((tool) => <ToolCard key={tool.name} plugin={plugin} tool={tool} />)}
        </div>
      </div>
    </>
  );
}

/** What is installed of a plugin, and the tasks that are pinned to it. */
function Versions({ all }: { all: Plugin[] }) {
  const [counts, setCounts] = useState<Record<string, Record<string, number>>>({});
  useEffect(() => {
    for (const { digest } of all) {
      call<{ counts: Record<string, number> }>(`/v1/tasks?limit=1&counts=true&plugin=${segment(digest)}`)
        .then((page) => setCounts((old) => ({ ...old, [digest]: page.counts })), () => {});
    }
  }, [all.map((one) => one.digest).join()]);
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Versions">
      <table>
        <thead><tr><th>Version</th><th>SHA-256</th><th>Installed</th><th>Tasks</th></tr></thead>
        <tbody>
          {all.map((one) => {
            const states = Object.entries(counts[one.digest] ?? {});
            return (
              <tr key={one.digest}>
                <td>{line(one.version)}</td>
                <td><code title={one.digest}>{short(one.digest)}…</code></td>
                <td>{one.installed_at && clock(one.installed_at)}</td>
                <td class="tasks-of">
                  {states.length === 0
                    ? counts[one.digest] && "none"
                    : <To href={`/tasks?plugin=${one.digest}`}>{states.map(([state, count]) => `${amount(count)} ${state}`).join(", ")}</To>}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  );
}

const VERDICTS: Record<Need["verdict"], string> = { granted: "granted", "not-granted": "not granted", "not-needed": "granted, not needed" };

export function Needs({ needs }: { needs: Need[] }) {
  if (needs.length === 0) return <p>It needs nothing from outside, and can reach nothing.</p>;
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="Needs">
      <table class="needs">
        <thead><tr><th>Need</th><th>Why</th><th>Verdict</th></tr></thead>
        <tbody>
          {needs.map((need, index) => (
            <tr key={index}>
              <td>{need.kind} <code>{line(need.name)}</code>{need.required && <span class="hint"> required</span>}</td>
              <td><Said text={need.why} /></td>
              <td class={need.verdict === "granted" ? "good" : need.required ? "bad" : ""}>{VERDICTS[need.verdict]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function ToolCard({ plugin, tool }: { plugin: Plugin; tool: Tool }) {
  const [starting, setStarting] = useState(false);
  return (
    <section class="card tool" aria-label={`Tool ${tool.name}`}>
      <h2><Said text={tool.title ?? tool.name} /> <code>{tool.name}</code></h2>
      <Markdown text={tool.description} />
      {may("tasks") && (starting
        ? <Start plugin={plugin} tool={tool} onBack={() => setStarting(false)} />
        : <p><button type="button" class="primary" onClick={() => setStarting(true)}>Start…</button></p>)}
      <Fold summary="Input schema">{() => <Data value={tool.inputSchema} />}</Fold>
      {tool.outputSchema !== undefined && <Fold summary="Output schema">{() => <Data value={tool.outputSchema!} />}</Fold>}
    </section>
  );
}

function Start({ plugin, tool, onBack }: { plugin: Plugin; tool: Tool; onBack(): void }) {
  const form = fields(tool.inputSchema);
  const [drafts, setDrafts] = useState<Record<string, Draft>>(() => Object.fromEntries((form ?? []).map((one) => [one.name, draftOf(one)])));
  const [json, setJson] = useState<string | undefined>(form ? undefined : "{}");
  const [session, setSession] = useState("");
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  // The same start again, after an answer that was lost, is the same task.
  const [key] = useState(() => crypto.getRandomValues(new Uint32Array(4)).join("-"));
  const begun = useRef<HTMLFormElement>(null);
  useEffect(() => begun.current?.querySelector<HTMLElement>("input, select, textarea")?.focus(), []);

  function input(): Json | undefined {
    if (json !== undefined) {
      try {
        return JSON.parse(json);
      } catch (error) {
        setProblem(`This is no JSON: ${message(error)}`);
        return undefined;
      }
    }
    const given = collect(form ?? [], drafts);
    if ("wrong" in given) {
      setWrong(given.wrong);
      focusWrong();
      return undefined;
    }
    setWrong({});
    return given.value;
  }

  async function start(event: Event) {
    event.preventDefault();
    setProblem(undefined);
    const value = input();
    if (value === undefined) return;
    setBusy(true);
    try {
      const body = { plugin: plugin.digest, tool: tool.name, input: value, ...(session.trim() ? { session: session.trim() } : {}) };
      const task = await call<Task>("/v1/tasks", { method: "POST", json: body, headers: { "idempotency-key": `${key}-${await fingerprint(body)}` } });
      go(`/tasks/${task.id}`);
    } catch (error) {
      setProblem(message(error));
      setBusy(false);
    }
  }

  return (
    <form class="answer" ref={begun} onSubmit={(event) => void start(event)} noValidate>
      {json === undefined
        ? form!.map((one) => (
          <Field key={one.name} field={one} draft={drafts[one.name]} wrong={wrong[one.name]} onDraft={(draft) => setDrafts({ ...drafts, [one.name]: draft })} />
        ))
        : (
          <div class="field">
            <label for="input-json">Input, as JSON</label>
            <textarea id="input-json" class="code" rows={8} spellcheck={false} value={json} onInput={(event) => setJson(event.currentTarget.value)} />
          </div>
        )}
      <div class="field">
        <label for="session">Session <span class="hint">optional: the conversation it belongs to</span></label>
        <input id="session" value={session} onInput={(event) => setSession(event.currentTarget.value)} />
      </div>
      <Wrong text={problem} />
      <div class="buttons">
        <button type="submit" class="primary" disabled={busy}>Start</button>
        <button type="button" onClick={onBack}>Back</button>
        {form && <button type="button" class="plain" onClick={() => setJson(json === undefined ? JSON.stringify(valueOrEmpty(form, drafts), null, 2) : undefined)}>{json === undefined ? "As JSON" : "As a form"}</button>}
      </div>
    </form>
  );
}

function valueOrEmpty(form: NonNullable<ReturnType<typeof fields>>, drafts: Record<string, Draft>): Json {
  const given = collect(form, drafts);
  return "value" in given ? given.value : {};
}

async function fingerprint(body: unknown): Promise<string> {
  // `crypto.subtle` is there on secure pages alone, and this need not be secret.
  let hash = 0;
  for (const char of JSON.stringify(body)) hash = (Math.imul(hash, 31) + char.codePointAt(0)!) | 0;
  return (hash >>> 0).toString(16);
}
