// The server's API: its shapes, and how it is called. docs: /openapi.json

import type { Json, JsonObject } from "./json";
import type { components } from "./openapi";

export type { Json };
export type Schema = JsonObject;

type Shapes = components["schemas"];
export type State = Shapes["State"];
export type Progress = Shapes["Progress"];
export type Asked = Shapes["AskedQuestion"];
export type SettledQuestion = Shapes["SettledQuestion"];
export type Reply = Shapes["Reply"];
export type TaskError = Shapes["TaskError"];
export type Part = Shapes["Part"];
export type Output = Shapes["Output"];
export type LimitUse = Shapes["LimitUse"];
export type Task = Shapes["Task"];
export type Tool = Shapes["DeclaredTool"];
export type Plugin = Shapes["Plugin"];
export type Need = Shapes["Need"];
export type Caller = Shapes["Caller"];
/** Beside these an event has members by its kind. */
export type TaskEvent = Omit<Shapes["Event"], string> & { seq: number; at: string; kind: string; [member: string]: Json | undefined };
export type FeedItem = Omit<Shapes["FeedItem"], "event"> & { event: TaskEvent };
/** What a stream of the list of tasks says. */
export interface ListNews { ids: string[]; tasks: Task[]; next?: string }

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
  const used = token;
  if (used !== null) headers.set("authorization", `Bearer ${used}`);
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
  // One that comes late says nothing of who has signed in since.
  if (response.status === 401 && used !== null && used === token && !problem.is("unknown-code")) onRefused();
  throw problem;
}

export async function call<T>(path: string, init: RequestInit & { json?: unknown } = {}): Promise<T> {
  const response = await open(path, init);
  return response.status === 204 ? (undefined as T) : await response.json();
}

export const segment = encodeURIComponent;
