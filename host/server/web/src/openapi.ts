// Written by `cargo xtask web-types` from the server's /openapi.json. Do not edit.

import type { Json, JsonObject } from "./json";

export type paths = Record<string, never>;
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        AskedQuestion: components["schemas"]["Question"] & {
            /** @description The task to answer to */
            task: string;
            /** @description The task that nobody started from within another one, where that is another */
            root?: string;
            session?: string;
            plugin: string;
            version: string;
            digest: string;
            tool: string;
            progress?: components["schemas"]["Progress"];
        };
        Question: {
            /** @description Its number within the task */
            question: number;
            /** @description The task to answer to, where it is a child of the one that was looked at */
            task?: string;
            prompt: string;
            /** @description Markdown */
            detail?: string;
            /** @description A JSON Schema that an answer must satisfy, within MCP's elicitation subset */
            answer: JsonObject;
            /** Format: date-time */
            deadline?: string;
            /** @description Hints for whoever shows it */
            options?: ({
                /** @description Who should answer */
                audience?: Json;
                /** @description What is most likely answered */
                default?: Json;
                /** @description `true`: the answer is confidential */
                sensitive?: Json;
            } & {
                [key: string]: unknown;
            }) | null;
        };
        Progress: {
            message: string;
            /** @description Done so far, in the tool's own unit */
            done?: number;
            /** @description What there is to do, in the same unit */
            total?: number;
            /** @enum {string} */
            level: "debug" | "info" | "warning" | "error";
        };
        Caller: {
            /** @description The token's name: who answers, if the answer does not say */
            name: string;
            namespace: string;
            scopes: ("tasks" | "answer" | "admin")[];
            /** Format: date-time */
            expires_at?: string;
        };
        DeclaredTool: {
            name: string;
            title?: string;
            description: string;
            inputSchema: JsonObject | boolean;
            outputSchema?: JsonObject | boolean;
            hints?: JsonObject;
            /** @enum {string} */
            pace?: "quick" | "any" | "long";
        };
        /** @description An entry of a task's journal. What it says beside these stands in further members, by its kind. */
        Event: {
            /** @description Its place in the journal: the cursor to read on from */
            seq: number;
            /** Format: date-time */
            at: string;
            /** @description Such as `started`, `progress`, `log`, `question`, `reply`, `child`, `retry`, `ended`; there will be others */
            kind: string;
        } & {
            [key: string]: unknown;
        };
        /** @description Something that a session should hear of. `task` and `event.seq` are the key to tell doubles by. */
        FeedItem: {
            /** @description Where to read on from */
            cursor: number;
            task: string;
            session?: string;
            /** @description What the caller attached at the start */
            context: Json;
            plugin: string;
            tool: string;
            event: components["schemas"]["Event"];
        };
        LimitUse: {
            /** @description Its name in `longhaul.toml` */
            limit: string;
            /**
             * @description `time` is milliseconds
             * @enum {string}
             */
            unit: "count" | "bytes" | "time";
            used: number;
            allowed: number;
        };
        Need: {
            /** @enum {string} */
            kind: "http" | "setting" | "secret" | "tool";
            name: string;
            /** @enum {string} */
            verdict: "granted" | "not-granted" | "not-needed";
            /** @description The plugin is of no use without it */
            required: boolean;
            /** @description The plugin's reason; empty for what it does not need */
            why: string;
        };
        Output: {
            parts: components["schemas"]["Part"][];
            /** @description Valid against the tool's output schema */
            structured?: Json;
        };
        /** @description One piece of a result: `text`, `bytes` (Base64) or `link`. */
        Part: {
            mediaType: string;
            name?: string;
            text?: string;
            bytes?: string;
            link?: string;
        };
        Plugin: {
            name: string;
            version: string;
            /** @description SHA-256 of the file, in hexadecimal */
            digest: string;
            /** @description Bytes */
            size: number;
            /** Format: date-time */
            installed_at?: string;
            manifest: components["schemas"]["Manifest"];
        };
        /** @description What a plugin declares; it may have further members */
        Manifest: {
            description: string;
            license?: string;
            homepage?: string;
            tools: components["schemas"]["DeclaredTool"][];
        } & {
            [key: string]: unknown;
        };
        Reply: {
            /** @enum {string} */
            outcome: "answered" | "declined" | "timed-out" | "closed";
            /** @description The answer */
            value?: Json;
            reason?: string;
            by?: string;
        };
        SettledQuestion: components["schemas"]["AskedQuestion"] & {
            reply?: components["schemas"]["Reply"];
        };
        /** @enum {string} */
        State: "queued" | "running" | "waiting" | "completed" | "failed" | "cancelled";
        /** @description A task, as of one moment. */
        Task: {
            id: string;
            /** @description The tenant it belongs to */
            namespace: string;
            /** @description The conversation it was started from */
            session?: string;
            plugin: string;
            version: string;
            /** @description What is run until the task ends, whatever is installed later */
            digest: string;
            tool: string;
            /** @description The task that started it, if it is a child */
            parent?: string;
            children?: components["schemas"]["Child"][];
            state: components["schemas"]["State"];
            /** @description There is something to do for it, and no living host that does */
            stalled: boolean;
            /** @description What a waiting task waits for, and when it goes on by itself */
            waiting?: {
                /** @enum {string} */
                on: "human" | "timer" | "child" | "ticket" | "retry";
                /** Format: date-time */
                until?: string;
            };
            /** @description The try it is on, counted from 1; 0 before the first */
            attempt: number;
            cancel_requested: boolean;
            /** Format: date-time */
            created_at: string;
            /** Format: date-time */
            updated_at: string;
            /** Format: date-time */
            ended_at?: string;
            /**
             * Format: date-time
             * @description When it is stopped if it has not ended
             */
            deadline: string;
            /** @description The `seq` of its last event */
            last_seq: number;
            progress?: components["schemas"]["Progress"];
            /** @description Those that may be answered, oldest first */
            questions: components["schemas"]["Question"][];
            /** @description What the caller attached at the start */
            context: Json;
            /** @description Instructions executed so far, about */
            fuel_used: number;
            output?: components["schemas"]["Output"];
            error?: components["schemas"]["TaskError"];
            /** @description What it has used of its limits */
            usage: components["schemas"]["LimitUse"][];
        };
        Child: {
            handle: number;
            task: string;
            plugin: string;
            tool: string;
            state: components["schemas"]["State"];
        };
        TaskError: {
            /**
             * @description `tool`: the tool said that it failed. `run`: the run broke
             * @enum {string}
             */
            class: "tool" | "run";
            code: string;
            message: string;
            /** @description What the tool attached */
            details?: Json;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export type operations = Record<string, never>;
