// One task: where it stands, what it did, what it was given and what it gave.

import { useEffect, useState } from "preact/hooks";
import { call, type Json, type LimitUse, Problem, segment, type Task, type TaskEvent } from "./api";
import { Ago, Badge, Bar, Copy, Countdown, Said, To, Wrong } from "./bits";
import { follow } from "./live";
import { Data, Result } from "./result";
import { gathered, may, message } from "./state";
import { Timeline } from "./timeline";
import { amount, clock, line, short, span, used } from "./text";

/** Entries that are shown at first: journals may have a million. */
const SHOWN = 500;

export function TaskPage({ id }: { id: string }) {
  const [task, setTask] = useState<Task>();
  const [input, setInput] = useState<Json>();
  const [events, setEvents] = useState<TaskEvent[]>([]);
  const [from, setFrom] = useState(0);
  const [broken, setBroken] = useState(false);
  const [problem, setProblem] = useState<string>();
  const path = `/v1/tasks/${segment(id)}`;

  useEffect(() => {
    const stop = new AbortController();
    const look = gathered(async () => {
      try {
        const seen = await call<Task>(path);
        if (!stop.signal.aborted) setTask(seen);
      } catch (error) {
        if (error instanceof Problem) setProblem(error.message);
      }
    }, 500);
    // Events come in bursts; the page is drawn once for each burst.
    let fresh: TaskEvent[] = [];
    let drawn = 0;
    function draw() {
      drawn = 0;
      const more = fresh;
      fresh = [];
      setEvents((old) => {
        const last = old.at(-1)?.seq ?? 0;
        return [...old, ...more.filter((event) => event.seq > last)];
      });
    }
    async function begin() {
      let after = 0;
      try {
        const seen = await call<Task>(path, { signal: stop.signal });
        setTask(seen);
        after = Math.max(0, seen.last_seq - SHOWN);
        setFrom(after);
        call<Json>(`${path}/input`).then(setInput, () => {});
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof Problem) return setProblem(error.message);
      }
      await follow({
        path: `${path}/events`,
        after: String(after),
        signal: stop.signal,
        on(message) {
          const event: TaskEvent = JSON.parse(message.data);
          fresh.push(event);
          drawn ||= window.setTimeout(draw, 100);
          if (event.kind === "progress") {
            setTask((old) => old && { ...old, progress: event as unknown as Task["progress"] });
          } else {
            look();
          }
        },
        connected(yes) {
          setBroken(!yes);
          if (yes) look();
        },
        ended(problem) {
          setBroken(false);
          if (problem) setProblem(problem.message);
          else look();
        },
      });
    }
    void begin();
    return () => { stop.abort(); clearTimeout(drawn); };
  }, [id]);

  async function earlier() {
    const first = events[0]?.seq ?? 1;
    let all: TaskEvent[] = [];
    for (let after = 0; ;) {
      const page = await call<{ events: TaskEvent[] }>(`${path}?after=${after}`);
      const before = page.events.filter((event) => event.seq < first);
      all = all.concat(before);
      if (before.length < page.events.length || page.events.length === 0) break;
      after = page.events.at(-1)!.seq;
    }
    setFrom(0);
    setEvents((old) => [...all, ...old]);
  }

  if (task === undefined) return <section><Wrong text={problem} /></section>;
  const ended = task.ended_at !== undefined;
  return (
    <section class="task" aria-labelledby="task-title">
      <p class="back"><To href="/tasks">← Tasks</To>{task.parent && <> · <To href={`/tasks/${task.parent}`}>the task that started it</To></>}</p>
      <header>
        <h1 id="task-title"><Said text={`${task.plugin}/${task.tool}`} /></h1>
        <Badge task={task} />
        {!ended && may("tasks") && <Cancel task={task} />}
      </header>
      <Wrong text={problem} />
      {broken && <p class="notice" role="status">The connection is gone; this page goes on where it stood when it is back.</p>}
      {!ended && <Bar progress={task.progress} />}
      {task.questions.length > 0 && (
        <ul class="open">
          {task.questions.map((one) => (
            <li key={`${one.task}/${one.question}`}>
              Asks: <To href={`/q/${one.task ?? task.id}/${one.question}`}><Said text={one.prompt} /></To>
              {one.deadline && <> <Countdown to={one.deadline} /></>}
            </li>
          ))}
        </ul>
      )}
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
      <section class="card">
        <h2>What happened</h2>
        {from > 0 && <p><button type="button" class="plain" onClick={() => void earlier().catch((error) => setProblem(message(error)))}>Show what came before</button></p>}
        <Timeline events={events} />
      </section>
      {input !== undefined && <details class="card"><summary>What it was started with</summary><Data value={input} /></details>}
      {task.usage && task.usage.length > 0 && <details class="card"><summary>Limits</summary><Usage usage={task.usage} /></details>}
      <details class="card" open={ended}>
        <summary>Facts</summary>
        <dl class="facts">
          <dt>Task</dt><dd><code>{task.id}</code></dd>
          <dt>Plugin</dt><dd><To href={`/plugins/${task.plugin}`}><Said text={task.plugin} /></To> {line(task.version)} <code title={task.digest}>{short(task.digest)}…</code></dd>
          {task.session && <><dt>Session</dt><dd><To href={`/tasks?session=${segment(task.session)}`}><Said text={task.session} /></To></dd></>}
          <dt>Started</dt><dd>{clock(task.created_at)}, <Ago at={task.created_at} /></dd>
          {task.ended_at && <><dt>Took</dt><dd>{span(new Date(task.ended_at).getTime() - new Date(task.created_at).getTime())}</dd></>}
          {!ended && <><dt>Deadline</dt><dd>{clock(task.deadline)}</dd></>}
          <dt>Attempt</dt><dd>{task.attempt}</dd>
          <dt>Fuel used</dt><dd>{amount(task.fuel_used)}</dd>
          {task.context !== null && <><dt>Context</dt><dd><code>{line(JSON.stringify(task.context)).slice(0, 500)}</code></dd></>}
          <dt>Replay it</dt><dd><Copy text={`longhaul tasks replay ${task.id}`} /></dd>
        </dl>
      </details>
    </section>
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
          <button type="button" onClick={() => setSure(false)}>Let it run</button>
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
        ? <button type="button" class="plain" aria-label={`Show what ${line(name)} did`} onClick={() => void call<Task>(`/v1/tasks/${segment(id)}`).then(setBelow, () => {})}>more</button>
        : <><Bar progress={below.progress} />{below.children && below.children.length > 0 && <Children task={below} />}</>}
    </li>
  );
}
