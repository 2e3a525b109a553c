// Answering a question, or declining to. The first answer counts.

import { useEffect, useRef, useState } from "preact/hooks";
import { type Asked, call, type Json, Problem, type Reply, segment, type Schema } from "./api";
import { Said, Wrong } from "./bits";
import { Field, focusWrong } from "./fields";
import { collect, type Draft, draftOf, field, fields, isForm, valueOf } from "./schema";
import { caller, keyOf, message, refresh, said, sending, settle } from "./state";
import { cut, line } from "./text";

/** What was written and not sent, by who wrote it: it is there again when one comes back, or has signed in again. */
const written = new Map<string, Record<string, Draft>>();

export function AnswerForm({ asked }: { asked: Asked }) {
  const schema = withDefault(asked);
  const all = isForm(schema) ? fields(schema) ?? [] : [field("answer", schema, true)];
  const single = !isForm(schema);
  const place = `${caller.value?.name}/${keyOf(asked)}`;
  const [drafts, setDrafts] = useState<Record<string, Draft>>(() => written.get(place) ?? Object.fromEntries(all.map((one) => [one.name, draftOf(one)])));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [problem, setProblem] = useState<string>();
  const [busy, setBusy] = useState(false);
  const [declining, setDeclining] = useState(false);
  const [reason, setReason] = useState("");
  const sensitive = asked.options?.sensitive === true;
  const why = useRef<HTMLTextAreaElement>(null);
  useEffect(() => { if (declining) why.current?.focus(); }, [declining]);

  function keep(now: Record<string, Draft>) {
    if (!sensitive) written.set(place, now);
    setDrafts(now);
  }

  async function send(body: { value: Json } | { decline: true; reason?: string }) {
    const key = keyOf(asked);
    setBusy(true);
    setProblem(undefined);
    sending.add(key);
    try {
      const path = `/v1/tasks/${segment(asked.task)}/questions/${asked.question}/answer`;
      const { reply } = await call<{ reply: Reply }>(path, { method: "POST", json: body });
      written.delete(place);
      said.value = "Your answer counted.";
      settle(key, { mine: true, reply });
      void refresh();
    } catch (error) {
      if (error instanceof Problem && error.is("already-settled")) {
        said.value = "Somebody else was first.";
        settle(key, { mine: false, reply: error.body.reply as unknown as Reply });
        void refresh();
      } else {
        setProblem(`It was not sent: ${message(error)}`);
      }
    } finally {
      sending.delete(key);
      setBusy(false);
    }
  }

  function submit(event: Event) {
    event.preventDefault();
    if (single) {
      const one = valueOf(all[0]!, drafts.answer);
      if ("wrong" in one) {
        setWrong({ answer: one.wrong });
        return focusWrong();
      }
      setWrong({});
      return void send({ value: one.value ?? "" });
    }
    const form = collect(all, drafts);
    if ("wrong" in form) {
      setWrong(form.wrong);
      return focusWrong();
    }
    setWrong({});
    void send({ value: form.value });
  }

  if (declining) {
    return (
      // A key of its own: were the button that was clicked made into one that submits, the click would submit.
      <form key="decline" class="answer" onSubmit={(event) => { event.preventDefault(); void send({ decline: true, ...(reason.trim() ? { reason: reason.trim() } : {}) }); }}>
        <div class="field">
          <label for="reason">Why not? <span class="hint">optional; the tool is told</span></label>
          <textarea id="reason" ref={why} rows={2} value={reason} onInput={(event) => setReason(event.currentTarget.value)} />
        </div>
        <Wrong text={problem} />
        <div class="buttons">
          <button type="submit" class="danger" disabled={busy}>Decline</button>
          <button type="button" onClick={() => setDeclining(false)}>Back</button>
        </div>
      </form>
    );
  }
  const confirm = single && all[0]!.kind.is === "confirm";
  return (
    <form key="answer" class="answer" onSubmit={submit} noValidate>
      {confirm ? null : all.map((one) => (
        <Field
          key={one.name}
          field={single ? { ...one, title: title(schema) ?? "Your answer" } : one}
          draft={drafts[one.name]}
          wrong={wrong[one.name]}
          sensitive={sensitive}
          bare={single && title(schema) === undefined}
          onDraft={(draft) => keep({ ...drafts, [one.name]: draft })}
        />
      ))}
      <Wrong text={problem} />
      <div class="buttons">
        {confirm ? (
          <>
            <button type="button" class="primary" disabled={busy} onClick={() => void send({ value: true })}>Yes</button>
            <button type="button" disabled={busy} onClick={() => void send({ value: false })}>No</button>
          </>
        ) : (
          <button type="submit" class="primary" disabled={busy}>Answer</button>
        )}
        <button type="button" class="plain" onClick={() => setDeclining(true)}>Decline…</button>
      </div>
    </form>
  );
}

const title = (schema: Schema) => (typeof schema.title === "string" ? schema.title : undefined);

/** A default that stands beside the schema counts as one within it. */
function withDefault(asked: Asked): Schema {
  const given = asked.options?.default;
  if (given === undefined) return asked.answer;
  if (!isForm(asked.answer)) return { ...asked.answer, default: given };
  if (typeof given !== "object" || given === null || Array.isArray(given)) return asked.answer;
  const properties = { ...(asked.answer.properties as Record<string, Schema>) };
  for (const [name, value] of Object.entries(given)) {
    if (properties[name]) properties[name] = { ...properties[name], default: value };
  }
  return { ...asked.answer, properties };
}

/** What became of a question. */
export function ReplyText({ reply, sensitive }: { reply: Reply; sensitive?: boolean }) {
  const by = reply.by ? <> by <Said text={reply.by} /></> : null;
  switch (reply.outcome) {
    case "answered":
      return <>answered{by}: <strong><bdi>{sensitive ? "(not shown)" : valueText(reply.value)}</bdi></strong></>;
    case "declined":
      return <>declined{by}{reply.reason ? <>: <Said text={reply.reason} /></> : null}</>;
    case "timed-out":
      return <>nobody answered in time</>;
    default:
      return <>closed: the task no longer needs an answer</>;
  }
}

function valueText(value: Json | undefined): string {
  if (value === true) return "yes";
  if (value === false) return "no";
  return line(cut(typeof value === "string" ? value : JSON.stringify(value ?? null), 500));
}
