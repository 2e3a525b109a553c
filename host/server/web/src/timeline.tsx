// A task's journal as a timeline.

import { Component, type ComponentChildren } from "preact";
import type { Json, LimitUse, Progress, Reply, State, TaskError, TaskEvent } from "./api";
import { ReplyText } from "./answer";
import { Bar, Said, To } from "./bits";
import { amount, bytes, clock, cut, shown, used } from "./text";

interface Row { event: TaskEvent; others: number }

/** One line for a run of progress, with the sleeps in between: the newest, and how many came before. */
function rows(events: TaskEvent[]): Row[] {
  const found: Row[] = [];
  for (const event of events) {
    let [last, before] = [found.at(-1), found.at(-2)];
    if (event.kind === "progress" && last?.event.kind === "sleep" && before?.event.kind === "progress") {
      found.pop();
      before.others += 1 + last.others;
      last = before;
    }
    if (event.kind === "progress" && last?.event.kind === "progress" && event.level === last.event.level) {
      found[found.length - 1] = { event, others: last.others + 1 };
    } else {
      found.push({ event, others: 0 });
    }
  }
  return found;
}

/** Entries in blocks: of a long journal only the one that grows is looked through again. */
export function Timeline({ blocks }: { blocks: TaskEvent[][] }) {
  const open = new Set(blocks.flatMap((events) => events.filter(mayBeAnsweredInTheOpen).map(questionOf)));
  return <ol class="timeline">{blocks.map((events) => <Block key={events[0]?.seq} events={events} open={open} />)}</ol>;
}

/** A question whose answer may be shown; the answer to one that was not read yet is not. */
function mayBeAnsweredInTheOpen(event: TaskEvent): boolean {
  const asked = inner(event);
  return asked.kind === "question" && (asked.options as { sensitive?: boolean } | undefined)?.sensitive !== true;
}

/** Which question an event is about, of the task or of a child. */
const questionOf = (event: TaskEvent) => `${text(event.child)} ${String(inner(event).question)}`;

const inner = (event: TaskEvent) => (event.kind === "child" ? (event.event as unknown as TaskEvent) : event);

interface Entries { events: TaskEvent[]; open: Set<string> }

/** Drawn again when there are other events in it, or more is known of the questions; not whenever its task is. */
class Block extends Component<Entries> {
  shouldComponentUpdate(next: Entries) {
    return next.events !== this.props.events || next.open.size !== this.props.open.size;
  }

  render({ events, open }: Entries) {
    return (
      <>
        {rows(events).map(({ event, others }) => (
          <Line key={event.seq} event={event} others={others} masked={inner(event).kind === "reply" && !open.has(questionOf(event))} />
        ))}
      </>
    );
  }
}

/** Drawn once: entries do not change, but for an answer whose question was read after it, and there may be thousands. */
class Line extends Component<Row & { masked: boolean }> {
  shouldComponentUpdate(next: Row & { masked: boolean }) {
    return next.event !== this.props.event || next.others !== this.props.others || next.masked !== this.props.masked;
  }

  render({ event, others, masked }: Row & { masked: boolean }) {
    return (
      <li class={`entry ${event.kind}`}>
        <time dateTime={event.at}>{clock(event.at)}</time>
        <div class="what">
          <Entry event={event} masked={masked} />
          {others > 0 && <span class="quiet"> the newest of <span class="run">{amount(others + 1)}</span> entries</span>}
        </div>
      </li>
    );
  }
}

const text = (value: Json | undefined) => (typeof value === "string" ? value : "");

function Entry({ event, masked }: { event: TaskEvent; masked: boolean }): ComponentChildren {
  const error = event.error as unknown as TaskError | undefined;
  switch (event.kind) {
    case "started":
      return <>started: <Said text={`${text(event.plugin)} ${text(event.version)}, ${text(event.tool)}`} /></>;
    case "attempt":
      return event.attempt === 1 ? <>runs</> : <>attempt {String(event.attempt)} begins</>;
    case "progress":
      return <Bar progress={event as unknown as Progress} />;
    case "log":
      return <pre class={`log ${text(event.stream)}`} dir="auto">{shown(cut(text(event.text).replace(/\n$/, ""), 20_000))}</pre>;
    case "question":
      return <>asks: <strong><Said text={text(event.prompt)} /></strong></>;
    case "reply":
      return <>question {String(event.question)} <ReplyText reply={event as unknown as Reply} sensitive={masked} /></>;
    case "sleep":
      return <>sleeps until {clock(text(event.until))}</>;
    case "child-started":
      return <>starts <To href={`/tasks/${text(event.child)}`}><Said text={`${text(event.plugin)}/${text(event.tool)}`} /></To></>;
    case "child-ended":
      return <>child <To href={`/tasks/${text(event.child)}`}>{text(event.child).slice(-6)}</To> {text(event.state as State)}{error && <>: <Said text={error.message} /></>}</>;
    case "child":
      return (
        <div class="of-child">
          <To href={`/tasks/${text(event.child)}`}>child {text(event.child).slice(-6)}</To>{" "}
          <Entry event={event.event as unknown as TaskEvent} masked={masked} />
        </div>
      );
    case "http":
      return (
        <>
          <code>{text(event.method)}</code> <Said text={cut(text(event.url), 300)} />{" "}
          {event.status !== undefined ? <span class={Number(event.status) < 400 ? "good" : "bad"}>{String(event.status)}</span> : <span class="bad"><Said text={text(event.error)} /></span>}
          <span class="quiet"> sent {bytes(Number(event.sent))}, received {bytes(Number(event.received))}, {String(event.millis)} ms</span>
        </>
      );
    case "cancel-requested":
      return <>somebody asked it to stop</>;
    case "refused":
      return <>the host refused <Said text={text(event.what)} />: <Said text={text(event.why)} /></>;
    case "limit-near": {
      const unit = event.unit as LimitUse["unit"];
      return <>is near its limit <code>{text(event.limit)}</code>: {used(Number(event.used), unit)} of {used(Number(event.allowed), unit)}</>;
    }
    case "checkpoint":
      return <>left work pending outside; looks again at {clock(text(event.until))}</>;
    case "retry":
      return <>failed for now{error && <>: <Said text={error.message} /></>}; attempt {String(event.attempt)} at {clock(text(event.until))}</>;
    case "ended":
      return <><strong class={event.state === "failed" ? "bad" : ""}>{text(event.state)}</strong>{error && <>: <Said text={error.message} /></>}</>;
    default:
      return <><code>{event.kind}</code> <span class="quiet">{cut(JSON.stringify(rest(event)), 300)}</span></>;
  }
}

function rest({ seq: _seq, at: _at, kind: _kind, ...members }: TaskEvent) {
  return members;
}
