// The types of the API, from the document that the built server serves. Run by itself it writes them down; a test compares.

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";
import { Server } from "./harness.mjs";

export const FILE = fileURLToPath(new URL("../src/openapi.ts", import.meta.url));
const HEAD = `// Written by \`cargo xtask web-types\` from the server's /openapi.json. Do not edit.

import type { Json, JsonObject } from "./json";

`;
/** The shapes that the page uses. */
const USED = [
  "AskedQuestion", "Caller", "DeclaredTool", "Event", "FeedItem", "LimitUse", "Need", "Output", "Part", "Plugin", "Progress", "Reply",
  "SettledQuestion", "State", "Task", "TaskError",
];
const SAYS = ["$ref", "type", "enum", "const", "allOf", "anyOf", "oneOf"];

export async function types(server) {
  return typesOf(await (await fetch(`${server.url}/openapi.json`)).json());
}

export async function typesOf({ openapi, info, components }) {
  const schemas = {};
  const take = (name) => {
    if (schemas[name]) return;
    schemas[name] = components.schemas[name];
    // And those that they are made of.
    for (const [, inner] of JSON.stringify(schemas[name]).matchAll(/"#\/components\/schemas\/([^"]+)"/g)) take(inner);
  };
  USED.forEach(take);
  const document = { openapi, info, paths: {}, components: { schemas } };
  const named = (name) => ts.factory.createTypeReferenceNode(name);
  const nodes = await openapiTS(document, {
    transform(schema) {
      // Whatever is not described may be any JSON.
      if (!SAYS.some((word) => word in schema)) return named("Json");
      if (schema.type === "object" && !schema.properties && typeof schema.additionalProperties !== "object") return named("JsonObject");
      return undefined;
    },
  });
  return HEAD + astToString(nodes);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const server = await new Server([]).start();
  try {
    await writeFile(FILE, await types(server));
  } finally {
    await server.end();
  }
}

export const written = () => readFile(FILE, "utf8");
