/** The built page and a real server under one address, as the binary will serve them. */

import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { extname, join, normalize } from "node:path";

const { GODWIT_BIN: binary = "", ...environment } = process.env;
const DIST = new URL("../../dist/", import.meta.url).pathname;
const LISTENING = /listening on http:\/\/[^:]+:(\d+)/;
const TYPES: Record<string, string> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
};
/** Nothing inline, nothing from elsewhere. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

export class Site {
  private server: ChildProcess | undefined;
  private serverPort = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly data: string,
    private readonly front: Server,
  ) {}

  static async start(): Promise<Site> {
    if (binary === "") {
      throw new Error("GODWIT_BIN must name the server to test with");
    }
    const front = createServer();
    const site = new Site(await mkdtemp(join(tmpdir(), "godwit-web-")), front);
    front.on("request", (asked, answer) => void site.answer(asked, answer));
    front.on("upgrade", (asked: IncomingMessage, socket: Socket) => site.upgrade(asked, socket));
    front.listen(0, "127.0.0.1");
    await once(front, "listening");
    await site.startServer();
    return site;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.front.address() as AddressInfo).port}`;
  }

  async startServer(): Promise<void> {
    const address = `127.0.0.1:${this.serverPort}`;
    const child = spawn(binary, ["serve", "--listen", address, "--data", this.data], {
      stdio: ["ignore", "pipe", "inherit"],
      // The server takes every variable that begins with GODWIT_ for a setting, and refuses what is none.
      env: { ...environment, GODWIT_LOG__LEVEL: "error" },
    });
    this.server = child;
    this.serverPort = await new Promise<number>((resolve, reject) => {
      let output = "";
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (text: string) => {
        output += text;
        const port = LISTENING.exec(output)?.[1];
        if (port !== undefined) {
          resolve(Number(port));
        }
      });
      child.once("exit", () => reject(new Error("the server ended before it listened")));
    });
  }

  /** As a power failure would: nothing is finished, nobody is told. */
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
    this.sockets.forEach((socket) => socket.destroy());
    this.front.closeAllConnections();
    this.front.close();
    await rm(this.data, { recursive: true, force: true });
  }

  private async answer(asked: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = new URL(asked.url ?? "/", "http://site").pathname;
    if (path.startsWith("/v1/")) {
      this.forward(asked, answer);
      return;
    }
    const name = normalize(path === "/" ? "/index.html" : path);
    try {
      const body = await readFile(join(DIST, name));
      const type = TYPES[extname(name)] ?? "application/octet-stream";
      answer.writeHead(200, { "content-type": type, "content-security-policy": POLICY }).end(body);
    } catch {
      answer.writeHead(404).end();
    }
  }

  private forward(asked: IncomingMessage, answer: ServerResponse): void {
    const { method, url: path, headers } = asked;
    const onward = request({ host: "127.0.0.1", port: this.serverPort, method, path, headers }, (got) => {
      answer.writeHead(got.statusCode ?? 502, got.headers);
      got.pipe(answer);
    });
    onward.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
    asked.pipe(onward);
  }

  private upgrade(asked: IncomingMessage, socket: Socket): void {
    const onward = connect(this.serverPort, "127.0.0.1", () => {
      const lines = asked.rawHeaders.flatMap((value, index) =>
        index % 2 === 0 ? [`${value}: ${asked.rawHeaders[index + 1] ?? ""}`] : [],
      );
      onward.write(`GET ${asked.url ?? ""} HTTP/1.1\r\n${lines.join("\r\n")}\r\n\r\n`);
      onward.pipe(socket).pipe(onward);
    });
    this.sockets.add(socket);
    socket.on("close", () => {
      this.sockets.delete(socket);
      onward.destroy();
    });
    onward.on("error", () => socket.destroy());
    onward.on("close", () => socket.destroy());
    socket.on("error", () => onward.destroy());
  }
}
