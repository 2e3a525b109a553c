// What the whole page shares.

import { signal } from "@preact/signals";
import { call, type Asked, type Caller, type FeedItem, hasToken, type Json, Problem, type Reply, setToken, type TaskEvent, whenRefused } from "./api";
import { follow, sleep } from "./live";
import { line } from "./text";

export const caller = signal<Caller | null>(null);
export const questions = signal<Asked[]>([]);
/** There are others behind those that are shown. */
export const moreQuestions = signal(false);
/** The questions were read at least once. */
export const loaded = signal(false);
export const online = signal(true);
/** Whether somebody is signed in is not known yet. */
export const beginning = signal(true);
export const path = signal(location.pathname);
export const query = signal(location.search);
/** Counts the pages that one has gone to, the same one again too. */
export const visit = signal(0);
/** What a screen reader says next. */
export const said = signal("");
/** What went wrong while signing in. */
export const refusal = signal("");
export const now = signal(Date.now());
/** What became of a question, and whether it was our answer that counted. */
export interface Settled { mine: boolean; reply: Reply }

/** What became of those that were on this screen: they stay until one looks away. */
export const settled = signal<Record<string, Settled | undefined>>({});
/** Those that an answer of ours is on its way to. */
export const sending = new Set<string>();

export function settle(key: string, how: Settled) {
  settled.value = { ...settled.value, [key]: how };
}

setInterval(() => { now.value = Date.now(); }, 1_000);

export function go(to: string) {
  history.pushState(null, "", to);
  arrived();
  document.querySelector("main")?.focus();
}

export function arrived() {
  path.value = location.pathname;
  query.value = location.search;
  visit.value += 1;
}

addEventListener("popstate", arrived);

let running = new AbortController();

/** With a code of a link or a token that this tab keeps. */
export async function begin() {
  whenRefused(() => signOut("You are signed out: the token has expired or was revoked."));
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code !== null) {
    // It is spent now, and need not stay in the history.
    history.replaceState(null, "", location.pathname + location.search);
    try {
      const session = await call<Caller & { token: string }>("/v1/session", { method: "POST", json: { code } });
      setToken(session.token);
    } catch (error) {
      if (!hasToken()) refusal.value = message(error);
    }
  }
  if (hasToken()) await enter();
  beginning.value = false;
}

export async function signIn(token: string) {
  setToken(token);
  refusal.value = "";
  await enter();
}

async function enter() {
  for (;;) {
    try {
      caller.value = await call<Caller>("/v1/session");
      break;
    } catch (error) {
      if (error instanceof Problem) {
        setToken(null);
        refusal.value = error.status === 401 ? "This token is unknown, revoked or expired." : error.message;
        return;
      }
      online.value = false;
      await new Promise((resolve) => setTimeout(resolve, 1_000));
    }
  }
  online.value = true;
  running = new AbortController();
  void watch(running.signal);
}

export function signOut(why = "") {
  running.abort();
  setToken(null);
  caller.value = null;
  questions.value = [];
  settled.value = {};
  loaded.value = false;
  refusal.value = why;
}

export const may = (scope: Caller["scopes"][number]) => caller.value?.scopes.includes(scope) ?? false;

/** How often the questions are read while nobody looks at the page, and it follows nothing. */
const HIDDEN = 15_000;

/** The list is read whole whenever something happened, so nothing can be missed by a reader who was away. */
async function watch(signal: AbortSignal) {
  const look = gathered(readQuestions);
  const timer = setInterval(() => { if (document.hidden) look(); }, HIDDEN);
  signal.addEventListener("abort", () => clearInterval(timer));
  // A tab that was opened in the background follows nothing yet.
  look();
  while (!signal.aborted) {
    await follow({
      path: "/v1/feed?after=latest",
      after: undefined,
      on(message) {
        heard(JSON.parse(message.data));
        look();
      },
      connected(yes) {
        online.value = yes;
        if (yes) look();
      },
      signal,
    });
    // A cursor that is not kept any more: from here on, then.
    online.value = true;
    look();
    await sleep(1_000, signal);
  }
}

/** Who has answered a question that is on this screen. */
function heard(item: FeedItem) {
  const { kind, child, event } = item.event;
  const [task, told] = kind === "child" ? [String(child), event as { [member: string]: Json }] : [item.task, item.event as TaskEvent];
  if (told.kind !== "reply") return;
  const key = `${task}/${told.question}`;
  if (sending.has(key) || settled.value[key] || !questions.value.some((asked) => keyOf(asked) === key)) return;
  settle(key, { mine: false, reply: told as unknown as Reply });
}

async function readQuestions() {
  try {
    const page = await call<{ questions: Asked[]; more: boolean }>("/v1/questions");
    announce(page.questions);
    questions.value = page.questions;
    moreQuestions.value = page.more;
    loaded.value = true;
  } catch {
    // Whoever follows the feed hears of it too, and looks again.
  }
}

export const refresh = () => readQuestions();

/** At most one at a time, and one more after it if it was asked for meanwhile. */
export function gathered(act: () => Promise<void>, pause = 100): () => void {
  let busy = false;
  let again = false;
  return async function run() {
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    do {
      again = false;
      await act();
      await new Promise((resolve) => setTimeout(resolve, pause));
    } while (again);
    busy = false;
  };
}

export const keyOf = (asked: { task: string; question: number }) => `${asked.task}/${asked.question}`;

function announce(next: Asked[]) {
  if (!loaded.value) return;
  const known = new Set(questions.value.map(keyOf));
  for (const asked of next.filter((asked) => !known.has(keyOf(asked)))) {
    said.value = `New question: ${line(asked.prompt)}`;
    if (wantsNotices.value && document.hidden) {
      const notice = new Notification(line(asked.prompt), { body: `${asked.plugin}/${asked.tool}`, tag: keyOf(asked) });
      notice.onclick = () => {
        window.focus();
        go(`/q/${keyOf(asked)}`);
      };
    }
  }
}

const NOTICES = "longhaul-notices";
export const wantsNotices = signal(
  localStorage.getItem(NOTICES) === "yes" && "Notification" in window && Notification.permission === "granted",
);

export async function toggleNotices() {
  const yes = !wantsNotices.value && (await Notification.requestPermission()) === "granted";
  wantsNotices.value = yes;
  localStorage.setItem(NOTICES, yes ? "yes" : "no");
}

export function message(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
