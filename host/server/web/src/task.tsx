// One task: where it stands, what it did, what it was given and what it gave.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type LimitUse, segment, type Task } from "./api";
import { Ago, Badge, Bar, Copy, Countdown, Fold, Reading, Said, To, WIDE, Wrong } from "./bits";
import { STEP, useTask } from "./follow-task";
import { Data, Result } from "./result";
import { may, message, online } from "./state";
import { Timeline } from "./timeline";
import { amount, clock, cut, line, short, took, used } from "./text";

/** So many lines fill a screen. */
const SCREEN = 15;

export function TaskPage({ id }: { id: string }) {
  const { task, input, blocks, from, broken, problem, earlier } = useTask(id);
  const happened = useRef<HTMLElement>(null);
  if (task === undefined) {
    return (
      <section class="wide">
        <Back />
        {problem && <h1>Task</h1>}
        <Wrong text={problem} />
        {broken && online.value && <Broken />}
        {problem === undefined && !broken && <Reading />}
      </section>
    );
  }
  const ended = task.ended_at !== undefined;
  const newest = () => happened.current?.querySelector(".entry:last-child")?.scrollIntoView({ block: "center" });
  return (
    <section class="task wide" aria-labelledby="task-title">
      <Back task={task} />
      <header>
        <h1 id="task-title"><Said text={`${task.plugin}/${task.tool}`} /></h1>
        <Badge task={task} />
        {!ended && may("tasks") && <Cancel task={task} />}
      </header>
      <Wrong text={problem} />
      {broken && online.value && <Broken />}
      <div class="beside">
        <div>
          {!ended && <Bar progress={task.progress} />}
          <Open task={task} />
          {task.error && (
            <div class="notice bad">
              <p><strong>{task.error.class === "tool" ? "The tool said" : "The run broke"}: {line(task.error.code)}.</strong> <bdi>{line(task.error.message)}</bdi></p>
              {task.error.details != null && <Data value={task.error.details} />}
            </div>
          )}
          {task.output && <section class="card result" aria-label="Result"><h2>Result</h2><Result output={task.output} /></section>}
          {task.children && task.children.length > 0 && (
            <section class="card"><h2>Children</h2><Children task={task} /></section>
          )}
        </div>
        <div class="aside">
          <Facts task={task} />
          {input !== undefined && <Fold card summary="What it was started with">{() => <Data value={input} />}</Fold>}
          {task.usage.length > 0 && <Fold card summary="Limits">{() => <Usage usage={task.usage} />}</Fold>}
        </div>
        <section class="card happened" aria-labelledby="happened-title" ref={happened}>
          <header>
            <h2 id="happened-title">What happened</h2>
            {blocks.reduce((sum, block) => sum + block.length, 0) > SCREEN && <button type="button" class="plain" onClick={newest}>To the newest</button>}
          </header>
          {from > 0 && <p><button type="button" class="plain" onClick={() => void earlier()}>Show {amount(Math.min(from, STEP))} entries before these</button></p>}
          <Timeline blocks={blocks} />
        </section>
      </div>
    </section>
  );
}

function Back({ task }: { task?: Task }) {
  return <p class="back"><To href="/tasks">← Tasks</To>{task?.parent && <> · <To href={`/tasks/${task.parent}`}>the task that started it</To></>}</p>;
}

const Broken = () => <p class="notice" role="status">The connection is gone; this page goes on where it stood when it is back.</p>;

/** What it asks now. */
function Open({ task }: { task: Task }) {
  if (task.questions.length === 0) return null;
  return (
    <ul class="open" aria-label="Open questions">
      {task.questions.map((one) => (
        <li key={`${one.task}/${one.question}`}>
          Asks: <To href={`/q/${one.task ?? task.id}/${one.question}`}><Said text={one.prompt} /></To>
          {one.deadline && <> <Countdown to={one.deadline} /></>}
        </li>
      ))}
    </ul>
  );
}

function Facts({ task }: { task: Task }) {
  const ended = task.ended_at !== undefined;
  return (
    <details class="card" open={WIDE.matches}>
      <summary>Facts</summary>
      <dl class="facts">
        <dt>Task</dt><dd><Copy text={task.id} /></dd>
        <dt>Plugin</dt><dd><To href={`/plugins/${task.plugin}`}><Said text={task.plugin} /></To> {line(task.version)} <code title={task.digest}>{short(task.digest)}…</code></dd>
        {task.session && <><dt>Session</dt><dd><To href={`/tasks?session=${segment(task.session)}`}><Said text={task.session} /></To></dd></>}
        <dt>Started</dt><dd>{clock(task.created_at)}, <Ago at={task.created_at} /></dd>
        {task.ended_at && <><dt>Took</dt><dd>{took(task)}</dd></>}
        {!ended && <><dt>Deadline</dt><dd>{clock(task.deadline)}</dd></>}
        {task.attempt > 1 && <><dt>Attempt</dt><dd>{task.attempt}</dd></>}
        <dt>Fuel used</dt><dd>{amount(task.fuel_used)}</dd>
        {task.context !== null && <><dt>Context</dt><dd><code>{line(cut(JSON.stringify(task.context), 500))}</code></dd></>}
        <dt>Replay it</dt><dd><Copy text={`longhaul tasks replay ${task.id}`} /></dd>
      </dl>
    </details>
  );
}

/** How much of its limits it has used, the fullest first. */
function Usage({ usage }: { usage: LimitUse[] }) {
  const share = (one: LimitUse) => (one.allowed > 0 ? one.used / one.allowed : 0);
  return (
    <table class="usage">
      <thead><tr><th>Limit</th><th class="right">Used</th><th class="right">Allowed</th></tr></thead>
      <tbody>
        {[...usage].sort((a, b) => share(b) - share(a)).map((one) => (
          <tr key={one.limit}>
            <td><code>{one.limit}</code></td>
            <td class={share(one) >= 0.8 ? "right bad" : "right"}>{used(one.used, one.unit)}</td>
            <td class="right">{used(one.allowed, one.unit)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Cancel({ task }: { task: Task }) {
  const [sure, setSure] = useState(false);
  const [problem, setProblem] = useState<string>();
  const harmless = useRef<HTMLButtonElement>(null);
  useEffect(() => { if (sure) harmless.current?.focus(); }, [sure]);
  if (task.cancel_requested) return <span class="quiet">It has been asked to stop.</span>;
  async function cancel() {
    try {
      await call(`/v1/tasks/${segment(task.id)}/cancel`, { method: "POST" });
      setSure(false);
    } catch (error) {
      setProblem(message(error));
    }
  }
  return (
    <span class="buttons">
      {sure ? (
        <>
          <button type="button" class="danger" onClick={() => void cancel()}>Stop it</button>
          <button type="button" ref={harmless} onClick={() => setSure(false)}>Let it run</button>
        </>
      ) : (
        <button type="button" onClick={() => setSure(true)}>Cancel…</button>
      )}
      <Wrong text={problem} />
    </span>
  );
}

/** The tree below a task; what is further down is read when it is opened. */
function Children({ task }: { task: Task }) {
  return (
    <ul class="tree">
      {task.children?.map((child) => <Branch key={child.task} id={child.task} name={`${child.plugin}/${child.tool}`} state={child.state} />)}
    </ul>
  );
}

function Branch({ id, name, state }: { id: string; name: string; state: Task["state"] }) {
  const [below, setBelow] = useState<Task>();
  return (
    <li>
      <To href={`/tasks/${id}`}><Said text={name} /></To> <Badge task={{ state }} />{" "}
      {below === undefined
        ? <button type="button" class="plain" aria-label={`more of ${line(name)}`} onClick={() => void call<Task>(`/v1/tasks/${segment(id)}`).then(setBelow, () => {})}>more</button>
        : <><Bar progress={below.progress} />{below.children && below.children.length > 0 && <Children task={below} />}</>}
    </li>
  );
}
