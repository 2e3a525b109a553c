// Tasks, the newest first.

import { useEffect, useRef, useState } from "preact/hooks";
import { call, type State, type Task } from "./api";
import { Ago, Badge, Bar, Said, To, Wrong } from "./bits";
import { go, message, query, stirred } from "./state";
import { line } from "./text";

const STATES: State[] = ["running", "waiting", "queued", "completed", "failed", "cancelled"];
/** How often lists look again while something moves: progress is no news of the feed. */
const EVERY = 2_000;

export function Tasks() {
  const filter = new URLSearchParams(query.value);
  const [tasks, setTasks] = useState<Task[]>();
  const [next, setNext] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const first = useRef<Task[]>([]);
  const asked = new URLSearchParams();
  for (const name of ["state", "plugin", "tool", "session"]) {
    const value = filter.get(name);
    if (value) asked.set(name, value);
  }
  const wanted = asked.toString();
  const text = (filter.get("text") ?? "").toLowerCase();

  useEffect(() => {
    let gone = false;
    async function look() {
      if (document.hidden) return;
      try {
        const page = await call<{ tasks: Task[]; next?: string }>(`/v1/tasks?limit=100&${wanted}`);
        if (gone) return;
        setProblem(undefined);
        first.current = page.tasks;
        // Those of later pages stay as they were read.
        const last = page.tasks.at(-1)?.id ?? "";
        setTasks((old) => [...page.tasks, ...(old ?? []).filter((task) => task.id < last)]);
        setNext((old) => old ?? page.next);
      } catch (error) {
        if (!gone) setProblem(message(error));
      }
    }
    setTasks(undefined);
    setNext(undefined);
    void look();
    const timer = setInterval(look, EVERY);
    const stop = stirred.subscribe(() => void look());
    return () => { gone = true; clearInterval(timer); stop(); };
  }, [wanted]);

  async function more() {
    const page = await call<{ tasks: Task[]; next?: string }>(`/v1/tasks?limit=100&${wanted}&cursor=${next}`);
    setTasks((old) => [...(old ?? []), ...page.tasks]);
    setNext(page.next ?? "");
  }

  function set(name: string, value: string) {
    const changed = new URLSearchParams(query.value);
    if (value) changed.set(name, value);
    else changed.delete(name);
    const said = changed.toString();
    history.replaceState(null, "", `/tasks${said && `?${said}`}`);
    query.value = location.search;
  }

  const seen = tasks?.filter((task) => !text || words(task).includes(text));
  return (
    <section class="tasks" aria-labelledby="tasks-title">
      <h1 id="tasks-title">Tasks</h1>
      <form class="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <label>State
          <select value={filter.get("state") ?? ""} onChange={(event) => set("state", event.currentTarget.value)}>
            <option value="">any</option>
            {STATES.map((state) => <option key={state}>{state}</option>)}
          </select>
        </label>
        <label>Tool <input value={filter.get("tool") ?? ""} onChange={(event) => set("tool", event.currentTarget.value.trim())} /></label>
        <label>Session <input value={filter.get("session") ?? ""} onChange={(event) => set("session", event.currentTarget.value.trim())} /></label>
        <label>Text <input type="search" value={filter.get("text") ?? ""} onInput={(event) => set("text", event.currentTarget.value)} /></label>
        {filter.get("plugin") && (
          <span class="chip">plugin {line(filter.get("plugin")!)} <button type="button" class="plain" aria-label="Any plugin" onClick={() => set("plugin", "")}>×</button></span>
        )}
        {query.value && <button type="button" class="plain" onClick={() => go("/tasks")}>Clear</button>}
      </form>
      <Wrong text={problem} />
      {seen?.length === 0 && <div class="empty"><p>No tasks{query.value ? " that fit" : " yet"}.</p></div>}
      <ul class="rows">
        {seen?.map((task) => <TaskRow key={task.id} task={task} />)}
      </ul>
      {next && <p><button type="button" onClick={() => void more()}>Show more</button> {text && <span class="quiet">Text is looked for in the {tasks?.length} tasks that were read.</span>}</p>}
    </section>
  );
}

const words = (task: Task) =>
  [task.id, task.plugin, task.tool, task.session, task.progress?.message, task.error?.message].join("\n").toLowerCase();

export function TaskRow({ task }: { task: Task }) {
  return (
    <li class="task-row">
      <To href={`/tasks/${task.id}`} class="title"><Said text={`${task.plugin}/${task.tool}`} /></To>
      <Badge task={task} />
      <span class="quiet when"><Ago at={task.created_at} />{task.session && <> · <Said text={task.session} /></>}</span>
      <div class="now">
        {task.error ? <span class="bad"><Said text={task.error.message} /></span> : task.state !== "completed" && <Bar progress={task.progress} />}
      </div>
    </li>
  );
}
