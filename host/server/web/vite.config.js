import { defineConfig } from "vite";

// The folder is given by `cargo xtask web`: cargo's target directory may lie anywhere.
export default defineConfig({
  base: "/",
  build: {
    outDir: process.env.LONGHAUL_WEB_OUT ?? "../../../target/web",
    emptyOutDir: true,
    target: "es2022",
    // One script and one style: the policy of the page allows no inline code, and nothing is worth a second request.
    modulePreload: false,
    assetsInlineLimit: 0,
  },
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
});
