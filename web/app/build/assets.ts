/** Post-processes the files of a build. */

import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { brotliCompressSync, gzipSync } from "node:zlib";

import type { Plugin } from "vite";

const TEXT = /\.(?:js|css|html|svg|json|webmanifest)$/;

/** Writes `.br` and `.gz` variants of each text file, so that the server need not compress. */
export function compressAssets(): Plugin {
  return {
    name: "godwit:compress",
    apply: "build",
    enforce: "post",
    async closeBundle() {
      for (const path of await filesOf("dist")) {
        if (TEXT.test(path)) {
          const bytes = await readFile(path);
          await writeFile(`${path}.br`, brotliCompressSync(bytes));
          await writeFile(`${path}.gz`, gzipSync(bytes, { level: 9 }));
        }
      }
    },
  };
}

/** Fails the build if the scripts of the first load exceed a size limit. */
export function checkSize(bytesMax: number): Plugin {
  return {
    name: "godwit:size",
    apply: "build",
    generateBundle(_options, bundle) {
      const bytes = Object.values(bundle)
        .filter((file) => file.type === "chunk")
        .reduce((sum, file) => sum + gzipSync(file.code, { level: 9 }).length, 0);
      this.info(`${(bytes / 1024).toFixed(1)} KiB of compressed JavaScript`);
      if (bytes > bytesMax) {
        this.error(`${bytes} bytes of compressed JavaScript exceed the limit of ${bytesMax}`);
      }
    },
  };
}

export async function filesOf(directory: string): Promise<string[]> {
  const entries = await readdir(directory, { withFileTypes: true, recursive: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
