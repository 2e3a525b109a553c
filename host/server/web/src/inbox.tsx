// The inbox: open questions, the most pressing first, and one of them to answer.

import { useEffect, useRef, useState } from "preact/hooks";
import { AnswerForm, ReplyText } from "./answer";
import { type Asked, call, type Json, type Need, segment, type SettledQuestion, type Task, type TaskEvent } from "./api";
import { Bar, Countdown, Said, To } from "./bits";
import { Markdown } from "./markdown";
import { Needs } from "./plugins";
import { keyOf, loaded, may, moreQuestions, questions, sending, type Settled, settled, toggleNotices, visit, wantsNotices } from "./state";
import { Timeline } from "./timeline";
import { cut, line, short, shown } from "./text";

export function Inbox({ wanted }: { wanted: string | undefined }) {
  const all = questions.value;
  // It stays the one that is shown when a more pressing one comes: nobody shall answer another question than the one they read.
  const first = useRef<{ visit: number; key: string | undefined }>({ visit: -1, key: undefined });
  if (first.current.visit !== visit.value) first.current = { visit: visit.value, key: undefined };
  first.current.key ??= all[0] && keyOf(all[0]);
  const selected = wanted ?? first.current.key;
  return (
    <div class={wanted === undefined ? "inbox" : "inbox one"}>
      <section class="list" aria-labelledby="inbox-title">
        <header>
          <h1 id="inbox-title">Inbox</h1>
          {"Notification" in window && (
            <button type="button" class="plain" aria-pressed={wantsNotices.value} onClick={() => void toggleNotices()}>
              {wantsNotices.value ? "Notifications on" : "Notify me"}
            </button>
          )}
        </header>
        {loaded.value && all.length === 0 && (
          <div class="empty">
            <p>Nobody waits for an answer.</p>
            <p class="quiet">Questions of running tasks appear here by themselves.</p>
          </div>
        )}
        <ul>
          {all.map((asked) => (
            <li key={keyOf(asked)}>
              <To href={`/q/${keyOf(asked)}`} class="item" aria-current={keyOf(asked) === selected ? "true" : undefined}>
                <span class="prompt"><Said text={asked.prompt} /></span>
                <span class="quiet"><Said text={`${asked.plugin}/${asked.tool}`} />{asked.session && <> · <Said text={asked.session} /></>}</span>
                {asked.deadline && <Countdown to={asked.deadline} />}
              </To>
            </li>
          ))}
        </ul>
        {moreQuestions.value && <p class="quiet">There are more, which can wait longer.</p>}
      </section>
      <section class="detail" aria-label="Question">
        {selected && <Detail key={selected} wanted={selected} />}
      </section>
    </div>
  );
}

function Detail({ wanted }: { wanted: string }) {
  const open = questions.value.find((asked) => keyOf(asked) === wanted);
  // It stays on the screen when it is settled.
  const [kept, setKept] = useState<Asked | undefined>(open);
  const [found, setFound] = useState<Settled | "unknown">();
  const asked = open ?? kept;
  const [task, number] = wanted.split("/") as [string, string];
  const gone = loaded.value && open === undefined && settled.value[wanted] === undefined && !sending.has(wanted);

  useEffect(() => {
    if (open !== undefined) setKept(open);
  }, [open]);
  useEffect(() => {
    if (!gone) return;
    // A list that is read whole is cut at 500: it may be open all the same.
    void look(task, Number(number)).then((seen) => {
      if (seen.asked !== undefined) setKept(seen.asked);
      setFound(seen.settled ?? (seen.asked === undefined ? "unknown" : undefined));
    });
  }, [gone]);

  const here = settled.value[wanted] !== undefined;
  const outcome = settled.value[wanted] ?? (gone ? found : undefined);
  if (outcome === "unknown") {
    return <><Back /><p class="notice">There is no such question here, or it is not for you.</p></>;
  }
  if (asked === undefined) return outcome === undefined ? null : <><Back /><Outcome settled={outcome} at={wanted} here={here} /></>;
  return (
    <>
      <Back />
      <article class="question">
        <p class="quiet">
          <Said text={`${asked.plugin} ${asked.version}`} /> · <Said text={asked.tool} />
          {asked.session && <> · session <Said text={asked.session} /></>}
          {typeof asked.options?.audience === "string" && <> · for <Said text={asked.options.audience} /></>}
        </p>
        <h2><bdi>{shown(asked.prompt)}</bdi></h2>
        {asked.deadline && outcome === undefined && <p><Countdown to={asked.deadline} /></p>}
        {asked.detail && <Markdown text={asked.detail} />}
        {outcome === undefined ? (
          <AnswerForm asked={asked} />
        ) : (
          <Outcome settled={outcome} at={wanted} here={here} sensitive={asked.options?.sensitive === true} />
        )}
      </article>
      {may("tasks") ? <Done asked={asked} /> : asked.progress && <section class="card"><h2>What it is at</h2><Bar progress={asked.progress} /></section>}
      <Trust asked={asked} />
    </>
  );
}

const Back = () => <p class="back"><To href="/">← All questions</To></p>;

function Outcome({ settled, at, here, sensitive }: { settled: Settled; at: string; here: boolean; sensitive?: boolean }) {
  const notice = useRef<HTMLDivElement>(null);
  // The form that was on the screen is gone: keys go on from here.
  useEffect(() => { if (here && document.activeElement === document.body) notice.current?.focus(); }, []);
  const next = questions.value.find((asked) => keyOf(asked) !== at);
  const counted = settled.mine && (settled.reply.outcome === "answered" || settled.reply.outcome === "declined");
  return (
    <div class={`notice ${counted ? "good" : ""}`} ref={notice} tabIndex={-1}>
      <p>
        {counted ? "Your answer counted: " : settled.reply.outcome === "answered" || settled.reply.outcome === "declined" ? "Somebody else was first: " : "This question is settled: "}
        <ReplyText reply={settled.reply} sensitive={sensitive} />
      </p>
      {may("tasks") && <p><To href={`/tasks/${at.split("/")[0]}`}>See what the task does with it</To></p>}
      {next && <p><To href={`/q/${keyOf(next)}`}>Next: <Said text={cut(next.prompt, 100)} /></To></p>}
    </div>
  );
}

/** What became of a question that is not in the list. */
async function look(task: string, number: number): Promise<{ asked?: Asked; settled?: Settled }> {
  try {
    const { reply, ...asked } = await call<SettledQuestion>(`/v1/tasks/${segment(task)}/questions/${number}`);
    return { asked, settled: reply && { mine: false, reply } };
  } catch {
    return {};
  }
}

/** What the task has done so far. */
function Done({ asked }: { asked: Asked }) {
  const [events, setEvents] = useState<TaskEvent[]>();
  const [input, setInput] = useState<Json>();
  useEffect(() => {
    const path = `/v1/tasks/${segment(asked.task)}`;
    call<Task>(path)
      .then((task) => call<{ events: TaskEvent[] }>(`${path}?after=${Math.max(0, task.last_seq - 60)}`))
      .then((task) => setEvents(task.events.filter((event) => event.kind !== "question" || event.question !== asked.question)))
      .catch(() => {});
    call<Json>(`${path}/input`).then(setInput).catch(() => {});
  }, [asked.task, asked.question]);
  return (
    <details class="card" open>
      <summary>What it has done so far</summary>
      <Bar progress={asked.progress} />
      {input !== undefined && <p class="quiet">Started with <code>{cut(line(JSON.stringify(input)), 300)}</code></p>}
      {events && <Timeline blocks={[events.slice(-12)]} />}
      <p><To href={`/tasks/${asked.root ?? asked.task}`}>The whole task</To></p>
    </details>
  );
}

/** Who asks: what was installed, and what it may reach. */
function Trust({ asked }: { asked: Asked }) {
  const [needs, setNeeds] = useState<Need[]>();
  useEffect(() => {
    call<{ needs: Need[] }>(`/v1/plugins/${segment(asked.digest)}/needs`).then((answer) => setNeeds(answer.needs)).catch(() => {});
  }, [asked.digest]);
  return (
    <details class="card">
      <summary>Who asks, and what it may do</summary>
      <p>
        The plugin {may("tasks") ? <To href={`/plugins/${asked.plugin}`}><Said text={asked.plugin} /></To> : <Said text={asked.plugin} />} {line(asked.version)},
        SHA-256 <code title={asked.digest}>{short(asked.digest)}…</code>. The words of the question are the plugin's own.
      </p>
      {needs && <Needs needs={needs} />}
    </details>
  );
}
