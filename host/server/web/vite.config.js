import { defineConfig } from "vite";

export default defineConfig({
  base: "/",
  build: {
    target: "es2022",
    // One script and one style: the policy of the page allows no inline code, and nothing is worth a second request.
    modulePreload: false,
    assetsInlineLimit: 0,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
