import { fileURLToPath } from "node:url";

import { defineConfig } from "vite";

import { checkSize, compressAssets } from "./build/assets.js";
import { listShell, WORKER_FILE } from "./build/shell.js";

/** The compressed size of the scripts of the first load. */
const SCRIPT_BYTES_MAX = 150 * 1024;

const server = process.env.GODWIT_URL ?? "http://127.0.0.1:8080";

export default defineConfig({
  resolve: { alias: { "@godwit/sdk": fileURLToPath(new URL("../sdk/src/index.ts", import.meta.url)) } },
  esbuild: { jsx: "automatic", jsxImportSource: "preact" },
  build: {
    target: "es2022",
    // Never inlines styles and images, so that the Content-Security-Policy can forbid inline content.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rollupOptions: {
      input: { index: "index.html", worker: "src/worker/sw.ts" },
      output: {
        entryFileNames: ({ name }) => (name === "worker" ? WORKER_FILE : "assets/[name]-[hash].js"),
      },
    },
  },
  server: { proxy: { "/v1": { target: server, ws: true } } },
  plugins: [listShell("public"), compressAssets(), checkSize(SCRIPT_BYTES_MAX)],
});
