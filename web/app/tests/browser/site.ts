/** A real server with its own data folder. It serves the page, and keeps its address after a restart. */

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const { GODWIT_BIN: binary = "", ...environment } = process.env;
// The server treats every variable with the prefix GODWIT_ as a setting, and refuses unknown ones.
const env = { ...environment, GODWIT_LOG__LEVEL: "error" };
const LISTENING = /listening on http:\/\/[^:]+:(\d+)/;

export class Site {
  private server: ChildProcess | undefined;
  private port = 0;

  private constructor(private readonly data: string) {}

  static async start(): Promise<Site> {
    return Site.startIn(await newFolder());
  }

  /** Starts a server with the data of `godwit demo`. `told` is its output, which says how to sign in. */
  static async startDemo(): Promise<{ site: Site; told: string }> {
    const data = await newFolder();
    const { stdout } = await promisify(execFile)(binary, ["demo", "--data", data], { env });
    return { site: await Site.startIn(data), told: stdout };
  }

  private static async startIn(data: string): Promise<Site> {
    const site = new Site(data);
    await site.startServer();
    const page = await fetch(site.url);
    if (!page.headers.get("content-type")?.startsWith("text/html")) {
      await site.stop();
      throw new Error("the server was built without the web client: build that first");
    }
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async startServer(): Promise<void> {
    const child = spawn(binary, ["serve", "--listen", `127.0.0.1:${this.port}`, "--data", this.data], {
      stdio: ["ignore", "pipe", "inherit"],
      env,
    });
    this.server = child;
    this.port = await new Promise<number>((resolve, reject) => {
      let output = "";
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (text: string) => {
        output += text;
        const port = LISTENING.exec(output)?.[1];
        if (port !== undefined) {
          resolve(Number(port));
        }
      });
      child.once("exit", () => reject(new Error("the server exited before it listened")));
    });
  }

  /** Kills the server without a graceful shutdown. */
  async killServer(): Promise<void> {
    const child = this.server;
    if (child?.exitCode === null && child.signalCode === null) {
      const exited = once(child, "exit");
      child.kill("SIGKILL");
      await exited;
    }
  }

  async stop(): Promise<void> {
    await this.killServer();
    await rm(this.data, { recursive: true, force: true });
  }
}

function newFolder(): Promise<string> {
  if (binary === "") {
    throw new Error("GODWIT_BIN must be the path of the server binary");
  }
  return mkdtemp(join(tmpdir(), "godwit-web-"));
}
