// One task as it goes on: read once, then followed by its events.

import { useEffect, useState } from "preact/hooks";
import { call, type Json, open, Problem, segment, type Task, type TaskEvent } from "./api";
import { follow, messages, sleep } from "./live";
import { gathered, message } from "./state";

/** Entries that are read at first: journals may have a million. */
const LAST = 500;
/** Entries that are read when one asks for those before. */
export const STEP = 2_000;
/** Entries that are kept as new ones come, beside those that were asked for. */
const MOST = 5_000;
/** Events come in bursts, and are drawn once for each. */
const BURST = 100;
/** What no event tells, such as that nobody runs it, is looked for so often. */
const LOOK = 5_000;

/** Entries of a block, which is drawn again only when it grows. */
const BLOCK = 500;

/** What is known of a journal: all that came after `from`, in blocks; `most` entries are kept. */
interface Journal { blocks: TaskEvent[][]; from: number; most: number }

export function useTask(id: string) {
  const path = `/v1/tasks/${segment(id)}`;
  const [task, setTask] = useState<Task>();
  const [input, setInput] = useState<Json>();
  const [journal, setJournal] = useState<Journal>({ blocks: [], from: 0, most: MOST });
  const [broken, setBroken] = useState(false);
  const [problem, setProblem] = useState<string>();

  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    // The last event that what is shown of the task knows of.
    let known = 0;
    let ended = false;
    let fresh: TaskEvent[] = [];
    let drawing = 0;

    function show(seen: Task) {
      known = Math.max(known, seen.last_seq);
      ended = seen.ended_at !== undefined;
      setTask(seen);
    }

    const look = gathered(async () => {
      try {
        const seen = await call<Task>(path, { signal });
        if (!signal.aborted) show(seen);
      } catch (error) {
        if (error instanceof Problem) setProblem(said(error));
      }
    }, 500);

    function draw() {
      drawing = 0;
      const more = fresh;
      fresh = [];
      setJournal((old) => grown(old, more));
      const news = more.filter((event) => event.seq > known);
      const progress = news.findLast((event) => event.kind === "progress");
      if (progress) setTask((old) => old && { ...old, progress: progress as unknown as Task["progress"] });
      if (news.some((event) => event.kind !== "progress")) look();
    }

    async function first(): Promise<Task | undefined> {
      while (!signal.aborted) {
        try {
          return await call<Task>(path, { signal });
        } catch (error) {
          if (signal.aborted) break;
          if (error instanceof Problem && error.status < 500) return void setProblem(said(error));
          setBroken(true);
          await sleep(1_000, signal);
        }
      }
      return undefined;
    }

    async function begin() {
      const seen = await first();
      if (seen === undefined) return;
      const from = Math.max(0, seen.last_seq - LAST);
      show(seen);
      setBroken(false);
      setJournal((old) => ({ ...old, from }));
      call<Json>(`${path}/input`, { signal }).then(setInput, () => {});
      let lost = false;
      await follow({
        path: `${path}/events`,
        after: String(from),
        signal,
        on(message) {
          fresh.push(JSON.parse(message.data));
          drawing ||= window.setTimeout(draw, BURST);
        },
        connected(yes) {
          setBroken(!yes);
          if (yes && lost) look();
          lost = !yes;
        },
        ended(problem) {
          setBroken(false);
          if (problem) setProblem(problem.message);
          else if (!ended) look();
        },
      });
    }

    const timer = setInterval(() => { if (!ended && known > 0 && !document.hidden) look(); }, LOOK);
    void begin();
    return () => {
      stop.abort();
      clearInterval(timer);
      clearTimeout(drawing);
    };
  }, [path]);

  async function earlier() {
    const first = journal.blocks[0]?.[0]?.seq;
    if (first === undefined) return;
    const from = Math.max(0, journal.from - STEP);
    const found: TaskEvent[] = [];
    try {
      // Pages of events each come with the whole task, and results may be large: the stream has the events alone.
      const stream = await open(`${path}/events?after=${from}`, { headers: { accept: "text/event-stream" } });
      for await (const { data } of messages(stream.body!)) {
        const event: TaskEvent = JSON.parse(data);
        if (event.seq >= first) break;
        found.push(event);
      }
      setJournal((old) => ({ blocks: [...(found.length > 0 ? [found] : []), ...old.blocks], from, most: old.most + found.length }));
    } catch (error) {
      setProblem(message(error));
    }
  }

  return { task, input, blocks: journal.blocks, from: journal.from, broken, problem, earlier };
}

function said(problem: Problem): string {
  return problem.status === 404 ? "There is no such task here. It may have been removed." : problem.message;
}

/** With what has come; the oldest blocks are left out when there are too many entries. */
function grown(old: Journal, more: TaskEvent[]): Journal {
  const last = old.blocks.at(-1) ?? [];
  const seen = last.at(-1)?.seq ?? 0;
  const fresh = more.filter((event) => event.seq > seen);
  if (fresh.length === 0) return old;
  const blocks = last.length > 0 && last.length < BLOCK ? [...old.blocks.slice(0, -1), [...last, ...fresh]] : [...old.blocks, fresh];
  let { from } = old;
  let kept = blocks.reduce((sum, block) => sum + block.length, 0);
  while (kept > old.most && blocks.length > 1) {
    kept -= blocks.shift()!.length;
    from = blocks[0]![0]!.seq - 1;
  }
  return { ...old, blocks, from };
}
