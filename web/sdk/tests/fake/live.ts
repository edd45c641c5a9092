/** Live sessions for tests, and their updates. */

import { Http, Live, type LiveConfig, MemoryTokenStore, ProcessLocks, type Update } from "../../src/index.js";
import { FakeHttp, json } from "./http.js";
import { tokens } from "./samples.js";
import { type FakeServer, settle } from "./socket.js";

export async function startLive(server: FakeServer, config: Partial<LiveConfig> = {}): Promise<Live> {
  const web = new FakeHttp(() => json(tokens(2)));
  const store = new MemoryTokenStore(tokens(1));
  return await Live.start({
    http: new Http({
      baseUrl: "http://chat.test",
      fetch: web.fetch,
      tokens: store,
      locks: new ProcessLocks(),
    }),
    webSocket: server.webSocket,
    locks: new ProcessLocks(),
    startAt: "beginning",
    random: () => 1,
    ...config,
  });
}

/** Takes updates, and records those that a test may check. */
export class Taker {
  readonly updates: Update[] = [];

  constructor(private readonly live: Live) {
    void this.take();
  }

  async of<T extends Update["type"]>(type: T): Promise<Extract<Update, { type: T }>[]> {
    await settle();
    return this.updates.filter((update): update is Extract<Update, { type: T }> => update.type === type);
  }

  async seqs(id: string): Promise<number[]> {
    const entries = await this.of("entry");
    return entries.filter((update) => update.conversationId === id).map((update) => update.entry.seq);
  }

  /** The types of all updates except those about the connection. */
  async kinds(): Promise<string[]> {
    await settle();
    return this.updates.map((update) => update.type).filter((type) => type !== "connection");
  }

  private async take(): Promise<void> {
    for await (const update of this.live) {
      this.updates.push(update);
    }
  }
}
