/** A TCP proxy between a user and the site that can be cut and restored. */

import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";

export class Wire {
  private readonly sockets = new Set<Socket>();
  private isCut = false;

  private constructor(
    private readonly near: Server,
    private readonly port: number,
  ) {}

  static async to(url: string): Promise<Wire> {
    const near = createServer();
    const wire = new Wire(near, Number(new URL(url).port));
    near.on("connection", (socket) => wire.join(socket));
    near.listen(0, "127.0.0.1");
    await once(near, "listening");
    return wire;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.near.address() as AddressInfo).port}`;
  }

  /** Drops all connections, including data in flight. */
  cut(): void {
    this.isCut = true;
    this.sockets.forEach((socket) => socket.destroy());
  }

  mend(): void {
    this.isCut = false;
  }

  close(): void {
    this.cut();
    this.near.close();
  }

  private join(socket: Socket): void {
    if (this.isCut) {
      socket.destroy();
      return;
    }
    const onward = connect(this.port, "127.0.0.1");
    for (const end of [socket, onward]) {
      this.sockets.add(end);
      end.on("error", () => end.destroy());
      end.on("close", () => {
        this.sockets.delete(end);
        (end === socket ? onward : socket).destroy();
      });
    }
    socket.pipe(onward).pipe(socket);
  }
}
