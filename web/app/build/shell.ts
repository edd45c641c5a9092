/** Tells the service worker which files the page consists of. */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { relative, sep } from "node:path";

import type { Plugin } from "vite";

import { filesOf } from "./assets.js";

/** Where a service worker has to be in order to be asked for every page. */
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
        this.error("there is no service worker to tell the files");
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
