// Schemas of answers (a flat subset of JSON Schema, as in MCP's elicitation) and of tools' inputs, as fields of a form.

import type { Json, Schema } from "./api";

export interface Choice { value: string; title: string }

export type Kind =
  | { is: "confirm" }
  | { is: "text"; min?: number; max?: number; format?: string; lines: boolean }
  | { is: "number"; whole: boolean; min?: number; max?: number }
  | { is: "choice"; choices: Choice[] }
  | { is: "choices"; choices: Choice[]; min: number; max: number }
  // What no simple field can hold is written as JSON.
  | { is: "json" };

export interface Field {
  name: string;
  title: string;
  description: string;
  required: boolean;
  default: Json | undefined;
  kind: Kind;
}

const object = (value: Json | undefined): Schema | undefined =>
  typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
const text = (value: Json | undefined) => (typeof value === "string" ? value : undefined);
const number = (value: Json | undefined) => (typeof value === "number" ? value : undefined);
const list = (value: Json | undefined) => (Array.isArray(value) ? value : undefined);

/** The fields of an object. `undefined`: the schema is none that a form can be made of. */
export function fields(schema: Schema | boolean): Field[] | undefined {
  const properties = typeof schema === "object" ? object(schema.properties) : undefined;
  if (typeof schema !== "object" || properties === undefined) return undefined;
  const required = list(schema.required) ?? [];
  return Object.entries(properties).map(([name, inner]) => field(name, plain(object(inner) ?? {}, schema), required.includes(name)));
}

/** References followed, and "or nothing" left out: so generators of schemas write what is optional. */
function plain(schema: Schema, root: Schema, depth = 0): Schema {
  const name = text(schema.$ref)?.match(/^#\/\$defs\/([^/]+)$/)?.[1];
  const either = (list(schema.anyOf) ?? list(schema.oneOf) ?? []).map(object);
  const some = either.filter((one) => one?.type !== "null");
  const meant = name !== undefined ? object(object(root.$defs)?.[name]) : some.length < either.length && some.length === 1 ? some[0] : undefined;
  // A schema may go round in a circle.
  if (meant === undefined || depth > 8) return schema;
  const { $ref: _ref, anyOf: _any, oneOf: _one, ...own } = schema;
  return { ...plain(meant, root, depth + 1), ...own };
}

export function field(name: string, schema: Schema, required: boolean): Field {
  return {
    name,
    title: text(schema.title) ?? name,
    description: text(schema.description) ?? "",
    required,
    default: schema.default,
    kind: kind(schema),
  };
}

export const isForm = (schema: Schema) => schema.type === "object";

function kind(schema: Schema): Kind {
  // `["string", "null"]` is how optional ones are written by many.
  const types = list(schema.type)?.filter((type) => type !== "null") ?? [schema.type ?? null];
  const type = types.length === 1 ? types[0] : undefined;
  switch (type) {
    case "boolean":
      return { is: "confirm" };
    case "integer":
    case "number":
      return { is: "number", whole: type === "integer", min: number(schema.minimum), max: number(schema.maximum) };
    case "string": {
      const choices = offered(schema);
      if (choices !== undefined) return { is: "choice", choices };
      const [format, max] = [text(schema.format), number(schema.maxLength)];
      return { is: "text", min: number(schema.minLength), max, format, lines: format === undefined && (max === undefined || max > 120) };
    }
    case "array": {
      const choices = offered(object(schema.items) ?? {});
      if (choices === undefined) return { is: "json" };
      return { is: "choices", choices, min: number(schema.minItems) ?? 0, max: number(schema.maxItems) ?? choices.length };
    }
    default: {
      const choices = type === null || type === undefined ? offered(schema) : undefined;
      return choices === undefined ? { is: "json" } : { is: "choice", choices };
    }
  }
}

function offered(schema: Schema): Choice[] | undefined {
  const names = list(schema.enumNames);
  const values = list(schema.enum);
  if (values?.every((value) => typeof value === "string")) {
    return values.map((value, index) => ({ value: value as string, title: text(names?.[index]) ?? (value as string) }));
  }
  const titled = list(schema.oneOf) ?? list(schema.anyOf);
  const choices = titled?.map((one) => ({ value: text(object(one)?.const), title: text(object(one)?.title) }));
  if (choices === undefined || choices.some((choice) => choice.value === undefined)) return undefined;
  return choices.map((choice) => ({ value: choice.value!, title: choice.title ?? choice.value! }));
}

/** What stands in a field of the page. */
export type Draft = string | boolean | string[] | undefined;

export function draftOf(field: Field): Draft {
  const given = field.default;
  switch (field.kind.is) {
    case "confirm":
      return typeof given === "boolean" ? given : undefined;
    case "choices":
      return Array.isArray(given) ? given.filter((one) => typeof one === "string") : [];
    case "json":
      return given === undefined ? "" : JSON.stringify(given, null, 2);
    default:
      return given === undefined || given === null ? "" : String(given);
  }
}

export type Value = { value: Json | undefined } | { wrong: string };

/** What the field says, or what is wrong with it. An optional field that is empty says nothing. */
export function valueOf(field: Field, draft: Draft): Value {
  const kind = field.kind;
  if (draft === undefined || draft === "") {
    return field.required && !(kind.is === "text" && kind.lines && !kind.min) ? { wrong: "An answer is needed here." } : { value: field.required ? "" : undefined };
  }
  switch (kind.is) {
    case "confirm":
      return { value: draft === true };
    case "choice":
      return { value: String(draft) };
    case "choices": {
      const chosen = draft as string[];
      if (chosen.length === 0 && !field.required && kind.min > 0) return { value: undefined };
      if (chosen.length < kind.min) return { wrong: `Choose at least ${kind.min}.` };
      if (chosen.length > kind.max) return { wrong: `Choose at most ${kind.max}.` };
      return { value: chosen };
    }
    case "number": {
      const value = Number(draft);
      if (Number.isNaN(value)) return { wrong: "This is no number." };
      if (kind.whole && !Number.isInteger(value)) return { wrong: "A whole number is needed." };
      if (kind.min !== undefined && value < kind.min) return { wrong: `It must be ${kind.min} or more.` };
      if (kind.max !== undefined && value > kind.max) return { wrong: `It must be ${kind.max} or less.` };
      return { value };
    }
    case "json":
      try {
        return { value: JSON.parse(String(draft)) };
      } catch (error) {
        return { wrong: `This is no JSON: ${(error as Error).message}` };
      }
    case "text": {
      const value = String(draft);
      // As JSON Schema counts: by code points.
      const length = [...value].length;
      if (kind.min !== undefined && length < kind.min) return { wrong: `At least ${kind.min} characters are needed.` };
      if (kind.max !== undefined && length > kind.max) return { wrong: `At most ${kind.max} characters are allowed; these are ${length}.` };
      return formatted(kind.format, value);
    }
  }
}

function formatted(format: string | undefined, value: string): Value {
  switch (format) {
    case "email":
      return /^[^\s@]+@[^\s@]+$/.test(value) ? { value } : { wrong: "This is no e-mail address." };
    case "uri":
      return URL.canParse(value) ? { value } : { wrong: "This is no address, such as https://example.com/page." };
    case "date-time": {
      // The browser's field knows local time.
      const time = new Date(value);
      return Number.isNaN(time.getTime()) ? { wrong: "This is no date and time." } : { value: time.toISOString() };
    }
    default:
      return { value };
  }
}

/** The fields of a form as one object, or what is wrong with which. */
export function collect(all: Field[], drafts: Record<string, Draft>): { value: { [name: string]: Json } } | { wrong: Record<string, string> } {
  const value: { [name: string]: Json } = {};
  const wrong: Record<string, string> = {};
  for (const field of all) {
    const one = valueOf(field, drafts[field.name]);
    if ("wrong" in one) wrong[field.name] = one.wrong;
    else if (one.value !== undefined) value[field.name] = one.value;
  }
  return Object.keys(wrong).length > 0 ? { wrong } : { value };
}
