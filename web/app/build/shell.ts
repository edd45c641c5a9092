/** Writes the list of the page's files into the service worker. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { relative, sep } from "node:path";

import type { Plugin } from "vite";

import { filesOf } from "./assets.js";

/** The service worker must be at the root to handle requests of every page. */
export const WORKER_FILE = "sw.js";
const PLACE = '"__SHELL__"';

export function listShell(publicDirectory: string): Plugin {
  return {
    name: "godwit:shell",
    apply: "build",
    enforce: "post",
    async generateBundle(_options, bundle) {
      const worker = bundle[WORKER_FILE];
      if (worker?.type !== "chunk" || !worker.code.includes(PLACE)) {
        this.error("the build has no service worker");
      }
      const hash = createHash("sha256");
      const paths: string[] = [];
      const add = (name: string, content: string | Uint8Array) => {
        paths.push(name === "index.html" ? "/" : `/${name}`);
        hash.update(name).update(content);
      };
      for (const [name, file] of Object.entries(bundle)) {
        if (name !== WORKER_FILE) {
          add(name, file.type === "chunk" ? file.code : file.source);
        }
      }
      for (const path of (await filesOf(publicDirectory)).sort()) {
        add(relative(publicDirectory, path).split(sep).join("/"), await readFile(path));
      }
      const shell = { version: hash.digest("hex").slice(0, 16), paths };
      worker.code = worker.code.replaceAll(PLACE, JSON.stringify(shell));
    },
  };
}
