// What strangers wrote, for people to read: it shows what it is, and cannot pass for something else.

// Terminal sequences: colours, titles, links.
const ESCAPES = /\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-Z\\-_])/g;
const CONTROLS = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]/g;
// What turns or hides the text around it.
const INVISIBLE = /[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

/** Without terminal sequences; controls and what reorders text are shown by their numbers. */
export function shown(text: string): string {
  return text
    .replace(ESCAPES, "")
    .replace(/\r\n?/g, "\n")
    .replace(CONTROLS, (c) => String.fromCodePoint(0x2400 + (c.codePointAt(0)! < 0x20 ? c.codePointAt(0)! : 0x21)))
    .replace(INVISIBLE, (c) => `\u27e8U+${c.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0")}\u27e9`);
}

/** The same, on one line. */
export const line = (text: string) => shown(text).replace(/\s*\n\s*/g, " ");

export function cut(text: string, most: number): string {
  return text.length <= most ? text : `${text.slice(0, most)}…`;
}

export const short = (digest: string) => digest.slice(0, 12);

export function bytes(count: number): string {
  const units = ["bytes", "KiB", "MiB", "GiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? count : count.toFixed(count < 10 ? 1 : 0)} ${units[unit]}`;
}

const SMALL = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const LARGE = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export const amount = (count: number) => (count >= 1e6 ? LARGE : SMALL).format(count);

/** So much of a limit. */
export function used(amountOf: number, unit: "count" | "bytes" | "time"): string {
  return unit === "bytes" ? bytes(amountOf) : unit === "time" ? (amountOf < 1000 ? `${amountOf} ms` : span(amountOf)) : amount(amountOf);
}

/** A span of time: its two largest units. */
export function span(millis: number): string {
  const seconds = Math.max(0, Math.round(millis / 1000));
  const [d, h, m, s] = [Math.floor(seconds / 86400), Math.floor(seconds / 3600) % 24, Math.floor(seconds / 60) % 60, seconds % 60];
  if (d > 0) return h > 0 && d < 7 ? `${d} d ${h} h` : `${d} d`;
  if (h > 0) return m > 0 ? `${h} h ${m} min` : `${h} h`;
  if (m > 0) return s > 0 && m < 10 ? `${m} min ${s} s` : `${m} min`;
  return `${s} s`;
}

/** How long a task took, from its start to its end. */
export function took(task: { created_at: string; ended_at?: string }): string {
  const millis = new Date(task.ended_at ?? Date.now()).getTime() - new Date(task.created_at).getTime();
  return millis < 1_000 ? `${Math.max(0, millis)} ms` : span(millis);
}

// Made once: making one takes longer than using it a hundred times.
const TIME = new Intl.DateTimeFormat([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat([], { day: "numeric", month: "short", year: "numeric" });

/** The time, and the day where it is another one than today. */
export function clock(at: string): string {
  const date = new Date(at);
  const today = new Date().toDateString() === date.toDateString();
  return today ? TIME.format(date) : `${DAY.format(date)}, ${TIME.format(date)}`;
}
