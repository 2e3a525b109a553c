// The page is checked against the API as it is.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Server } from "./harness.mjs";
import { types, written } from "./types.mjs";

test("the types of the API are those that the server describes", async () => {
  const server = await new Server([]).start();
  try {
    assert.ok(await types(server) === await written(), "src/openapi.ts is not what the server describes: run `cargo xtask web-types`, and commit it");
  } finally {
    await server.end();
  }
});
