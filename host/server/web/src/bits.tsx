// Small pieces that several pages use.

import type { ComponentChildren, JSX } from "preact";
import { useState } from "preact/hooks";
import type { Progress, State, Task } from "./api";
import { go, now, said } from "./state";
import { amount, clock, line, span } from "./text";

/** A link within the inbox. */
export function To({ href, children, ...rest }: { href: string; children: ComponentChildren; class?: string; "aria-current"?: "page" | "true" | undefined }) {
  return (
    <a
      href={href}
      {...rest}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        go(href);
      }}
    >
      {children}
    </a>
  );
}

/** Text of a stranger within a sentence of ours: what turns it around stays inside. */
export const Said = ({ text }: { text: string }) => <bdi>{line(text)}</bdi>;

export function Badge({ task }: { task: Pick<Task, "state"> & Partial<Task> }) {
  const waits = task.waiting?.on;
  const words: Record<State, string> = {
    queued: "queued",
    running: "running",
    waiting: waits === "human" || task.questions?.length ? "asks" : waits === "timer" ? "sleeps" : waits ? `waits: ${waits}` : "waits",
    completed: "completed",
    failed: "failed",
    cancelled: "cancelled",
  };
  const text = task.stalled ? "nobody runs it" : task.cancel_requested && !task.ended_at ? "stopping" : words[task.state];
  return <span class={`badge ${task.stalled ? "stalled" : text === "asks" ? "asks" : task.state}`}>{text}</span>;
}

export function Bar({ progress }: { progress: Progress | undefined }) {
  if (progress === undefined) return null;
  const { done, total } = progress;
  const known = done !== undefined && total !== undefined && total > 0;
  return (
    <div class="progress">
      <span class={`said ${progress.level}`}><Said text={progress.message} /></span>
      {known && <progress value={Math.min(done, total)} max={total} aria-label={line(progress.message) || "progress"} />}
      {known ? <span class="count">{amount(done)} of {amount(total)}</span> : done !== undefined && <span class="count">{amount(done)}</span>}
    </div>
  );
}

export function Countdown({ to }: { to: string }) {
  const left = new Date(to).getTime() - now.value;
  return (
    <time dateTime={to} title={clock(to)} class={left < 60_000 ? "countdown near" : "countdown"}>
      {left <= 0 ? "time is up" : `${span(left)} left`}
    </time>
  );
}

export const Ago = ({ at }: { at: string }) => (
  <time dateTime={at} title={clock(at)}>{span(now.value - new Date(at).getTime())} ago</time>
);

// Pages that came over HTTP from another machine have none.
const CLIPBOARD = navigator.clipboard as Clipboard | undefined;

export function Copy({ text }: { text: string }) {
  const [copied, setCopied] = useState(false);
  return (
    <span class="copy">
      <code>{text}</code>
      {CLIPBOARD && (
        <button
          type="button"
          class="plain"
          aria-label={copied ? undefined : `copy ${text}`}
          onClick={async () => {
            await CLIPBOARD.writeText(text).then(() => { setCopied(true); said.value = "Copied."; }, () => {});
            setTimeout(() => setCopied(false), 2_000);
          }}
        >
          {copied ? "copied" : "copy"}
        </button>
      )}
    </span>
  );
}

/** There is room for two things side by side, as in `.beside`. */
export const WIDE = matchMedia("(min-width: 64rem)");

/** What is drawn when it is opened, and not before: it may be large. */
export function Fold({ summary, card, children }: { summary: string; card?: boolean; children: () => JSX.Element }) {
  const [open, setOpen] = useState(false);
  return (
    <details class={card ? "card" : undefined} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{summary}</summary>
      {open && children()}
    </details>
  );
}

/** Shown where reading takes longer than a moment. */
export const Reading = () => <p class="quiet soon" role="status">Reading…</p>;

export function Wrong({ text }: { text: string | undefined }) {
  return text ? <p class="notice bad" role="alert">{text}</p> : null;
}
