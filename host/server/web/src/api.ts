// The server's API: its shapes, and how it is called. docs: /openapi.json

export type State = "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json };
export type Schema = { [keyword: string]: Json };

export interface Progress { message: string; done?: number; total?: number; level: "debug" | "info" | "warning" | "error" }

export interface Question {
  question: number;
  task?: string;
  prompt: string;
  detail?: string;
  answer: Schema;
  deadline?: string;
  options?: { audience?: Json; default?: Json; sensitive?: Json } | null;
}

export interface Asked extends Question {
  task: string;
  root?: string;
  session?: string;
  plugin: string;
  version: string;
  digest: string;
  tool: string;
  progress?: Progress;
}

export interface Reply { outcome: "answered" | "declined" | "timed-out" | "closed"; value?: Json; reason?: string; by?: string }
export interface TaskError { class: "tool" | "run"; code: string; message: string; details?: Json }
export interface Part { mediaType: string; name?: string; text?: string; bytes?: string; link?: string }
export interface Output { parts: Part[]; structured?: Json }
export interface Child { handle: number; task: string; plugin: string; tool: string; state: State }

export interface LimitUse { limit: string; unit: "count" | "bytes" | "time"; used: number; allowed: number }

export interface Task {
  id: string;
  namespace: string;
  session?: string;
  plugin: string;
  version: string;
  digest: string;
  tool: string;
  parent?: string;
  children?: Child[];
  state: State;
  stalled: boolean;
  waiting?: { on: "human" | "timer" | "child" | "ticket" | "retry"; until?: string };
  attempt: number;
  cancel_requested: boolean;
  created_at: string;
  updated_at: string;
  ended_at?: string;
  deadline: string;
  last_seq: number;
  progress?: Progress;
  questions: Question[];
  context: Json;
  fuel_used: number;
  /** What it has used of its limits. */
  usage?: LimitUse[];
  output?: Output;
  error?: TaskError;
}

// Beside these an event has members by its kind.
export interface TaskEvent { seq: number; at: string; kind: string; [member: string]: Json | undefined }

export interface Tool {
  name: string;
  title?: string;
  description: string;
  inputSchema: Schema | boolean;
  outputSchema?: Schema | boolean;
  hints?: { [name: string]: Json };
  pace?: string;
}

export interface Plugin {
  name: string;
  version: string;
  digest: string;
  size: number;
  installed_at?: string;
  manifest: { description: string; license?: string; homepage?: string; tools: Tool[] };
}

export interface Need {
  kind: "http" | "setting" | "secret" | "tool";
  name: string;
  verdict: "granted" | "not-granted" | "not-needed";
  required: boolean;
  why: string;
}

export interface Caller { name: string; namespace: string; scopes: string[]; expires_at?: string }

/** What the server answered instead of doing it (RFC 9457). */
export class Problem extends Error {
  readonly status: number;
  readonly body: { [member: string]: Json };

  constructor(status: number, body: { [member: string]: Json }) {
    super(typeof body.detail === "string" ? body.detail : `the server answered ${status}`);
    this.status = status;
    this.body = body;
  }

  is(name: string): boolean {
    return this.body.type === `urn:longhaul:${name}`;
  }
}

/** The server cannot be reached. */
export class Unreachable extends Error {}

// For this tab alone, and sent by our own hand: no other page's request carries it, as it would a cookie.
const KEPT = "longhaul-token";
let token = sessionStorage.getItem(KEPT);
let onRefused = () => {};

export const hasToken = () => token !== null;

export function setToken(value: string | null) {
  token = value;
  if (value === null) sessionStorage.removeItem(KEPT);
  else sessionStorage.setItem(KEPT, value);
}

/** What to do when the token is none, or none any more. */
export function whenRefused(act: () => void) {
  onRefused = act;
}

export async function open(path: string, init: RequestInit & { json?: unknown } = {}): Promise<Response> {
  const headers = new Headers(init.headers);
  if (token !== null) headers.set("authorization", `Bearer ${token}`);
  let body = init.body;
  if (init.json !== undefined) {
    headers.set("content-type", "application/json");
    body = JSON.stringify(init.json);
  }
  let response: Response;
  try {
    response = await fetch(path, { ...init, headers, body, credentials: "omit", cache: "no-store", redirect: "error" });
  } catch (error) {
    if (init.signal?.aborted) throw error;
    throw new Unreachable("the server cannot be reached");
  }
  if (response.ok) return response;
  const problem = new Problem(response.status, await response.json().catch(() => ({})));
  if (response.status === 401 && token !== null && !problem.is("unknown-code")) onRefused();
  throw problem;
}

export async function call<T>(path: string, init: RequestInit & { json?: unknown } = {}): Promise<T> {
  const response = await open(path, init);
  return response.status === 204 ? (undefined as T) : await response.json();
}

export const segment = encodeURIComponent;
