import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    // Runs the test files one after the other.
    maxWorkers: 1,
    minWorkers: 1,
    projects: [
      { test: { name: "unit", include: ["tests/unit/**/*.test.ts"] } },
      { test: { name: "server", include: ["tests/server/**/*.test.ts"], testTimeout: 90_000 } },
    ],
  },
});
