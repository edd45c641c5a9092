/** Two users exchange messages through a real server, which is killed and restarted. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, test } from "vitest";
import WebSocket from "ws";

import { type ConversationId, Http, Live, type LogEntry, textMessage, type UserId } from "../../src/index.js";
import { ServerProcess } from "./process.js";

const MESSAGES_EACH = 60;
const KILL_AFTER = [20, 45];

let folder: string;
let server: ServerProcess;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "godwit-sdk-"));
  server = await ServerProcess.start(folder);
});

afterEach(async () => {
  await server.kill();
  await rm(folder, { recursive: true, force: true });
});

/** One of the two users, with the received entries. */
class Person {
  readonly entries: LogEntry[] = [];
  readonly errors: unknown[] = [];
  /** The number of lost connections. */
  losses = 0;

  private constructor(
    readonly name: string,
    readonly id: UserId,
    readonly http: Http,
    readonly live: Live,
  ) {
    void this.take();
  }

  static async register(name: string, url: string): Promise<Person> {
    const http = new Http({ baseUrl: url });
    const { user } = await http.auth.register({ handle: name, password: "correct horse" });
    const live = await Live.start({ http, webSocket: WebSocket, startAt: "beginning" });
    return new Person(name, user.id, http, live);
  }

  /** Sends all messages without waiting, and then waits until all are durable. */
  async sendAll(conversation: ConversationId, onSend: (number: number) => void): Promise<void> {
    const sent: Promise<unknown>[] = [];
    for (let number = 1; number <= MESSAGES_EACH; number += 1) {
      sent.push(this.live.send(conversation, textMessage(`${this.name} ${number}`)));
      onSend(number);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    await Promise.all(sent);
  }

  messages(): string[] {
    return this.entries.flatMap((entry) =>
      entry.type === "message" && entry.message.text ? [entry.message.text] : [],
    );
  }

  private async take(): Promise<void> {
    for await (const update of this.live) {
      if (update.type === "entry") {
        this.entries.push(update.entry);
      } else if (update.type === "refused") {
        this.errors.push(update.unsent.refusal);
      } else if (update.type === "connection" && update.connection.state === "offline") {
        this.losses += 1;
      }
    }
  }
}

async function until(condition: () => boolean): Promise<void> {
  while (!condition()) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test("both users receive every message once and in order, although the server was killed", async () => {
  const ada = await Person.register("ada", server.url);
  const bob = await Person.register("bob", server.url);
  const conversation = await ada.http.conversations.direct(bob.id);
  await Promise.all([ada.live.online(), bob.live.online()]);

  let restarts = Promise.resolve();
  const kill = async () => {
    await server.kill();
    server = await ServerProcess.start(folder, server.port);
  };
  const killSometimes = (number: number) => {
    if (KILL_AFTER.includes(number)) {
      restarts = restarts.then(kill);
    }
  };
  await Promise.all([
    ada.sendAll(conversation.id, killSometimes),
    bob.sendAll(conversation.id, () => undefined),
  ]);
  await restarts;

  const all = 2 * MESSAGES_EACH;
  await until(() => ada.messages().length >= all && bob.messages().length >= all);
  const numbered = (name: string) =>
    Array.from({ length: MESSAGES_EACH }, (_, index) => `${name} ${index + 1}`);
  for (const person of [ada, bob]) {
    expect(person.losses).toBeGreaterThan(0);
    expect(person.errors).toEqual([]);
    const seqs = person.entries.map((entry) => entry.seq);
    expect(seqs).toEqual(Array.from(seqs, (_, index) => index + 1));
    expect(person.messages()).toHaveLength(all);
    expect(person.messages().filter((text) => text.startsWith("ada"))).toEqual(numbered("ada"));
    expect(person.messages().filter((text) => text.startsWith("bob"))).toEqual(numbered("bob"));
  }
  expect(ada.messages()).toEqual(bob.messages());

  // The server knows that both have received everything.
  await until(() => ada.live.unsent().length + bob.live.unsent().length === 0);
  await Promise.all([ada.live.close(), bob.live.close()]);
  const { cursors, head } = await ada.http.conversations.get(conversation.id);
  expect(cursors?.map((cursor) => cursor.delivered)).toEqual([head, head]);
});
