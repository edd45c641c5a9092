import { fileURLToPath } from "node:url";

import { defineConfig } from "vitest/config";

const alias = { "@godwit/sdk": fileURLToPath(new URL("../sdk/src/index.ts", import.meta.url)) };

export default defineConfig({
  test: {
    // Runs one browser and one server at a time.
    maxWorkers: 1,
    minWorkers: 1,
    projects: [
      { resolve: { alias }, test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      {
        resolve: { alias },
        test: {
          name: "browser",
          include: ["tests/browser/**/*.test.ts"],
          // Long enough for a busy machine; only ends tests that hang.
          testTimeout: 240_000,
          hookTimeout: 240_000,
          expect: { poll: { timeout: 60_000 } },
        },
      },
    ],
  },
});
