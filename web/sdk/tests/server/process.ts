/** A real server in its own process, which tests may kill. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const { GODWIT_BIN: binary = "", ...environment } = process.env;

const LISTENING = /listening on http:\/\/[^:]+:(\d+)/;

export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Starts a server; port 0 selects a free one. Resolves when the server listens. */
  static async start(dataFolder: string, port = 0): Promise<ServerProcess> {
    if (binary === "") {
      throw new Error("GODWIT_BIN must be the path of the server binary");
    }
    const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data", dataFolder], {
      stdio: ["ignore", "pipe", "inherit"],
      // The server treats every variable with the prefix GODWIT_ as a setting, and refuses unknown ones.
      env: { ...environment, GODWIT_LOG__LEVEL: "error" },
    });
    const found = await new Promise<string>((resolve, reject) => {
      let output = "";
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (text: string) => {
        output += text;
        const match = LISTENING.exec(output);
        if (match?.[1] !== undefined) {
          resolve(match[1]);
        }
      });
      child.once("error", reject);
      child.once("exit", () => reject(new Error(`${binary} exited before it listened`)));
    });
    return new ServerProcess(child, Number(found));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Kills the server without a graceful shutdown. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, "exit");
      this.child.kill("SIGKILL");
      await exited;
    }
  }
}
