// Tasks, the newest first, as they are now.

import { Component } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { call, type ListNews, type State, type Task } from "./api";
import { Ago, Badge, Bar, Reading, Said, To, Wrong } from "./bits";
import { follow } from "./live";
import { go, message, query } from "./state";
import { cut, line, took } from "./text";

const STATES: State[] = ["running", "waiting", "queued", "completed", "failed", "cancelled"];
/** Tasks of a page, and the most that are followed at once. */
const PAGE = 100;
const FOLLOWED = 1_000;
/** What is typed is looked for when one stops typing. */
const TYPING = 250;

export function Tasks() {
  const filter = new URLSearchParams(query.value);
  const asked = new URLSearchParams();
  for (const name of ["state", "plugin", "tool", "session", "text"]) {
    const value = filter.get(name)?.trim();
    if (value) asked.set(name, value);
  }
  const wanted = useSettled(asked.toString());
  const [limit, setLimit] = useState(PAGE);
  const [tasks, setTasks] = useState<Task[]>();
  // Behind those that are followed: they stay as they were read.
  const [older, setOlder] = useState<Task[]>([]);
  const [next, setNext] = useState<string>();
  const [problem, setProblem] = useState<string>();
  const shown = useRef("");

  useEffect(() => {
    const stop = new AbortController();
    if (shown.current !== wanted) {
      shown.current = wanted;
      setTasks(undefined);
      setOlder([]);
      if (limit !== PAGE) return setLimit(PAGE);
    }
    let known = new Map<string, Task>();
    void follow({
      path: `/v1/tasks?limit=${limit}&${wanted}`,
      after: undefined,
      signal: stop.signal,
      // A stream begins with the whole page: nothing that happened before it is missed.
      on({ data }) {
        const news: ListNews = JSON.parse(data);
        for (const task of news.tasks) known.set(task.id, task);
        const page = news.ids.map((id) => known.get(id)!);
        known = new Map(page.map((task) => [task.id, task]));
        setProblem(undefined);
        setTasks(page);
        setNext(news.next);
      },
      connected() {},
      ended(problem) {
        if (problem) setProblem(problem.message);
      },
    });
    return () => stop.abort();
  }, [wanted, limit]);

  async function more() {
    if (limit < FOLLOWED) return setLimit(limit + PAGE);
    try {
      const page = await call<{ tasks: Task[]; next?: string }>(`/v1/tasks?limit=${PAGE}&${wanted}&cursor=${older.at(-1)?.id ?? next}`);
      setOlder([...older, ...page.tasks]);
      if (page.next === undefined) setNext(undefined);
    } catch (error) {
      setProblem(message(error));
    }
  }

  function set(name: string, value: string) {
    const changed = new URLSearchParams(query.value);
    if (value) changed.set(name, value);
    else changed.delete(name);
    const said = changed.toString();
    history.replaceState(null, "", `/tasks${said && `?${said}`}`);
    query.value = location.search;
  }

  // A new task pushes one out of those that are followed.
  const last = tasks?.at(-1)?.id ?? "";
  const seen = tasks && [...tasks, ...older.filter((task) => task.id < last)];
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
        <label>Tool <input value={filter.get("tool") ?? ""} onInput={(event) => set("tool", event.currentTarget.value)} /></label>
        <label>Session <input value={filter.get("session") ?? ""} onInput={(event) => set("session", event.currentTarget.value)} /></label>
        <label>Search <input type="search" placeholder="id, progress, error…" value={filter.get("text") ?? ""} onInput={(event) => set("text", event.currentTarget.value)} /></label>
        {filter.get("plugin") && (
          <span class="chip">plugin {line(cut(filter.get("plugin")!, 20))} <button type="button" class="plain" aria-label="Any plugin" onClick={() => set("plugin", "")}>×</button></span>
        )}
        {query.value && <button type="button" class="plain" onClick={() => go("/tasks")}>Clear</button>}
      </form>
      <Wrong text={problem} />
      {seen?.length === 0 && (
        <div class="empty">
          <p>No tasks{query.value ? " that fit" : " yet"}.</p>
          {!query.value && <p class="quiet">Agents start them, <code>longhaul run</code> does, and so do the forms of <To href="/plugins">plugins</To>.</p>}
        </div>
      )}
      {tasks === undefined && problem === undefined && <Reading />}
      <ul class="rows">
        {seen?.map((task) => <TaskRow key={task.id} task={task} />)}
      </ul>
      {next && <p><button type="button" onClick={() => void more()}>Show more</button></p>}
    </section>
  );
}

/** A value that has not changed for a moment. */
function useSettled(value: string): string {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), TYPING);
    return () => clearTimeout(timer);
  }, [value]);
  return settled;
}

/** Drawn again when its task has changed: there may be a thousand. */
class TaskRow extends Component<{ task: Task }> {
  shouldComponentUpdate(next: { task: Task }) {
    return next.task !== this.props.task;
  }

  render({ task }: { task: Task }) {
    return (
      <li class="task-row">
        <To href={`/tasks/${task.id}`} class="title"><Said text={`${task.plugin}/${task.tool}`} /></To>
        <Badge task={task} />
        <span class="quiet when"><Ago at={task.created_at} />{task.ended_at && <> · took {took(task)}</>}{task.session && <> · <Said text={task.session} /></>}</span>
        <div class="now">
          {task.error ? <span class="bad"><Said text={task.error.message} /></span> : task.state !== "completed" && <Bar progress={task.progress} />}
        </div>
      </li>
    );
  }
}
