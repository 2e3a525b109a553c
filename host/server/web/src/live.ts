// Following what happens: server-sent events, read by `fetch` because `EventSource` sends no token.

import { open, Problem } from "./api";

export interface Message { id: string; event: string; data: string }

/** Cuts a stream of server-sent events into messages. */
export async function* messages(body: ReadableStream<Uint8Array>): AsyncGenerator<Message> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as TransformStream<Uint8Array, string>).getReader();
  let rest = "";
  let message: Message = { id: "", event: "message", data: "" };
  let lines: string[] = [];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const parts = (rest + value).split("\n");
      rest = parts.pop() ?? "";
      for (const part of parts) {
        const line = part.endsWith("\r") ? part.slice(0, -1) : part;
        if (line === "") {
          if (lines.length > 0) yield { ...message, data: lines.join("\n") };
          message = { id: message.id, event: "message", data: "" };
          lines = [];
          continue;
        }
        const colon = line.indexOf(":");
        const [name, text] = colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).replace(/^ /, "")];
        if (name === "data") lines.push(text);
        else if (name === "id") message.id = text;
        else if (name === "event") message.event = text;
      }
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

export interface Follow {
  path: string;
  /** The id to go on from. */
  after: string | undefined;
  on(message: Message): void;
  /** The connection is there, or it is gone and will be tried again. */
  connected(yes: boolean): void;
  /** The server says that there is nothing more to come, or that there is no such thing. */
  ended?(problem?: Problem): void;
  signal: AbortSignal;
}

const FIRST_PAUSE = 500;
const LONGEST_PAUSE = 8_000;

/** Follows until there is no more or the signal says so; whatever breaks in between is taken up where it broke. While nobody
 * looks at the page it holds no connection: a browser has six for one server, over all of its tabs. */
export async function follow(what: Follow): Promise<void> {
  let after = what.after;
  let pause = FIRST_PAUSE;
  while (!what.signal.aborted) {
    await looked(what.signal);
    if (what.signal.aborted) return;
    const connection = new AbortController();
    const end = () => { if (what.signal.aborted || document.hidden) connection.abort(); };
    what.signal.addEventListener("abort", end);
    document.addEventListener("visibilitychange", end);
    try {
      const headers: Record<string, string> = { accept: "text/event-stream" };
      if (after !== undefined) headers["last-event-id"] = after;
      const response = await open(what.path, { headers, signal: connection.signal });
      if (response.status === 204 || response.body === null) return what.ended?.();
      what.connected(true);
      pause = FIRST_PAUSE;
      for await (const message of messages(response.body)) {
        after = message.id || after;
        what.on(message);
      }
      // It ended as it should: at once again, to hear whether there is more.
      if (after !== undefined) {
        await sleep(50, what.signal);
        continue;
      }
    } catch (error) {
      if (what.signal.aborted) return;
      if (connection.signal.aborted) continue;
      // To ask again would be answered the same, but for what passes.
      if (error instanceof Problem && error.status < 500 && error.status !== 429) return what.ended?.(error);
    } finally {
      what.signal.removeEventListener("abort", end);
      document.removeEventListener("visibilitychange", end);
    }
    if (what.signal.aborted) return;
    what.connected(false);
    await sleep(pause * (0.75 + Math.random() / 2), what.signal);
    pause = Math.min(pause * 2, LONGEST_PAUSE);
  }
}

/** Resolves when the page is looked at. */
async function looked(signal: AbortSignal): Promise<void> {
  while (document.hidden && !signal.aborted) {
    await new Promise((resolve) => {
      document.addEventListener("visibilitychange", resolve, { once: true });
      signal.addEventListener("abort", resolve, { once: true });
    });
  }
}

export function sleep(millis: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, millis);
    signal.addEventListener("abort", () => { clearTimeout(timer); resolve(); }, { once: true });
  });
}
