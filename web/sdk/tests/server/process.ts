/** A real server in a process of its own, which tests may kill. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";

const { GODWIT_BIN: binary = "", ...environment } = process.env;

const LISTENING = /listening on http:\/\/[^:]+:(\d+)/;

export class ServerProcess {
  private constructor(
    private readonly child: ChildProcess,
    readonly port: number,
  ) {}

  /** Port 0 picks a free one. Answered when the server listens. */
  static async start(dataFolder: string, port = 0): Promise<ServerProcess> {
    if (binary === "") {
      throw new Error("GODWIT_BIN must name the server to test with");
    }
    const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${port}`, "--data", dataFolder], {
      stdio: ["ignore", "pipe", "inherit"],
      // The server takes every variable that begins with GODWIT_ for a setting, and refuses what is none.
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
      child.once("exit", () => reject(new Error(`${binary} ended before it listened`)));
    });
    return new ServerProcess(child, Number(found));
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** As a power failure would: nothing is finished, nobody is told. */
  async kill(): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) {
      const exited = once(this.child, "exit");
      this.child.kill("SIGKILL");
      await exited;
    }
  }
}
