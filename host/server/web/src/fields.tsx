// One field of a form, by its kind.

import { useId } from "preact/hooks";
import type { Draft, Field as Shape } from "./schema";
import { line, shown } from "./text";

interface Props {
  field: Shape;
  draft: Draft;
  wrong?: string;
  sensitive?: boolean;
  /** The question above it says already what the field is. */
  bare?: boolean;
  onDraft(draft: Draft): void;
}

export function Field({ field, draft, wrong, sensitive, bare, onDraft }: Props) {
  const id = useId();
  const kind = field.kind;
  const title = line(field.title);
  const described = [field.description && !bare ? `${id}-about` : "", wrong ? `${id}-wrong` : ""].filter(Boolean).join(" ") || undefined;
  const common = { id, "aria-describedby": described, "aria-invalid": wrong ? true : undefined, required: field.required };
  const about = field.description && !bare && <p class="about" id={`${id}-about`}>{shown(field.description)}</p>;
  const problem = wrong && <p class="wrong" id={`${id}-wrong`}>{wrong}</p>;
  const onInput = (event: Event) => onDraft((event.currentTarget as HTMLInputElement).value);

  if (kind.is === "confirm" || (kind.is === "choice" && kind.choices.length <= 12)) {
    const choices = kind.is === "confirm"
      ? [{ value: "true", title: "Yes" }, { value: "false", title: "No" }]
      : kind.choices;
    return (
      <fieldset class="field" aria-describedby={described}>
        <legend>{title}{!field.required && <Optional />}</legend>
        {about}
        {choices.map((choice) => (
          <label class="choice" key={choice.value}>
            <input
              type="radio"
              name={id}
              value={choice.value}
              checked={kind.is === "confirm" ? draft === (choice.value === "true") : draft === choice.value}
              onChange={() => onDraft(kind.is === "confirm" ? choice.value === "true" : choice.value)}
            />
            <span dir="auto">{line(choice.title)}</span>
          </label>
        ))}
        {problem}
      </fieldset>
    );
  }
  if (kind.is === "choices") {
    const chosen = draft as string[];
    return (
      <fieldset class="field" aria-describedby={described}>
        <legend>
          {title}
          <span class="hint"> {bounds(kind.min, kind.max, kind.choices.length)}</span>
        </legend>
        {about}
        {kind.choices.map((choice) => (
          <label class="choice" key={choice.value}>
            <input
              type="checkbox"
              checked={chosen.includes(choice.value)}
              onChange={(event) => onDraft(event.currentTarget.checked
                // In the order in which they are offered.
                ? kind.choices.map((one) => one.value).filter((one) => chosen.includes(one) || one === choice.value)
                : chosen.filter((one) => one !== choice.value))}
            />
            <span dir="auto">{line(choice.title)}</span>
          </label>
        ))}
        {problem}
      </fieldset>
    );
  }
  return (
    <div class="field">
      <label for={id} class={bare ? "unseen" : undefined}>{title}{!field.required && <Optional />}</label>
      {about}
      {kind.is === "choice" ? (
        <select {...common} value={String(draft ?? "")} onChange={onInput}>
          <option value="">choose…</option>
          {kind.choices.map((choice) => <option key={choice.value} value={choice.value}>{line(choice.title)}</option>)}
        </select>
      ) : kind.is === "number" ? (
        <input {...common} type="text" inputMode={kind.whole ? "numeric" : "decimal"} value={String(draft ?? "")} onInput={onInput} />
      ) : kind.is === "json" ? (
        <textarea {...common} class="code" rows={4} spellcheck={false} placeholder="JSON" value={String(draft ?? "")} onInput={onInput} />
      ) : kind.lines && !sensitive ? (
        <textarea {...common} rows={bare ? 3 : 2} value={String(draft ?? "")} onInput={onInput} />
      ) : (
        <input {...common} type={(sensitive ? "password" : INPUTS[kind.format ?? ""] ?? "text") as "text"} autocomplete="off" value={String(draft ?? "")} onInput={onInput} />
      )}
      {problem}
    </div>
  );
}

/** To the first field with which something is wrong, once that is drawn. */
export function focusWrong() {
  requestAnimationFrame(() => document.querySelector(".wrong")?.closest(".field")?.querySelector<HTMLElement>("input, select, textarea")?.focus());
}

// Which of them it is, is known when it runs: the types of attributes want one.
const INPUTS: Record<string, string> = { email: "email", uri: "url", date: "date", "date-time": "datetime-local" };

const Optional = () => <span class="hint"> optional</span>;

function bounds(min: number, max: number, all: number): string {
  if (min === max) return `choose ${min}`;
  if (max < all) return min > 0 ? `choose ${min} to ${max}` : `choose ${max} at most`;
  return min > 0 ? `choose ${min} or more` : "choose any";
}
