// The web inbox: who is signed in, and which page is shown.

import { render } from "preact";
import { useEffect } from "preact/hooks";
import { To } from "./bits";
import { Inbox } from "./inbox";
import { Plugins } from "./plugins";
import { SignIn } from "./signin";
import { begin, beginning, caller, may, online, path, questions, said, signOut } from "./state";
import { TaskPage } from "./task";
import { Tasks } from "./tasks";
import { line } from "./text";
import "./style.css";

function part(index: number): string {
  try {
    return decodeURIComponent(path.value.split("/")[index] ?? "");
  } catch {
    return "";
  }
}

function Page() {
  const wanted = part(1);
  if (!may("tasks") && (wanted === "tasks" || wanted === "plugins")) {
    return <section><h1>{wanted === "tasks" ? "Tasks" : "Plugins"}</h1><p class="notice">Your token may answer questions, and see nothing else. <To href="/">To the inbox</To></p></section>;
  }
  switch (wanted) {
    case "tasks":
      return part(2) ? <TaskPage key={part(2)} id={part(2)} /> : <Tasks />;
    case "plugins":
      return <Plugins key={part(2)} wanted={part(2) || undefined} />;
    case "q":
      return <Inbox wanted={`${part(2)}/${part(3)}`} />;
    default:
      return <Inbox wanted={undefined} />;
  }
}

function App() {
  const count = questions.value.length;
  const name = { tasks: "Tasks", plugins: "Plugins" }[part(1)] ?? "Inbox";
  useEffect(() => {
    document.title = `${count > 0 ? `(${count}) ` : ""}${name} · Longhaul`;
  }, [count, name]);
  if (beginning.value) return <main tabIndex={-1}><p class="quiet" role="status">{online.value ? "" : "The server cannot be reached; trying again…"}</p></main>;
  if (caller.value === null) return <SignIn />;
  const { name: who, namespace } = caller.value;
  const here = (wanted: string) => (name === wanted ? "page" as const : undefined);
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.querySelector("main")?.focus(); }}>To the content</a>
      <header class="top">
        <nav aria-label="Pages">
          <To href="/" class="brand" aria-current={here("Inbox")}>Inbox{count > 0 && <span class="number" aria-label={`${count} open`}>{count}</span>}</To>
          {may("tasks") && <To href="/tasks" aria-current={here("Tasks")}>Tasks</To>}
          {may("tasks") && <To href="/plugins" aria-current={here("Plugins")}>Plugins</To>}
        </nav>
        <div class="who">
          <span class="quiet">{line(who)}{namespace !== "default" && <> in {line(namespace)}</>}{!may("tasks") && <> · answers only</>}</span>
          <button type="button" class="plain" onClick={() => signOut()}>Sign out</button>
        </div>
      </header>
      {!online.value && <p class="notice offline" role="status">The server cannot be reached. This page tries again by itself, and misses nothing.</p>}
      <main id="main" tabIndex={-1}><Page /></main>
      <div class="unseen" aria-live="polite">{said.value}</div>
    </>
  );
}

render(<App />, document.getElementById("app")!);
void begin();
