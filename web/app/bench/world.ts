/** The test data: a user with very many conversations, one of them very long. */

import { type Conversation, type ConversationId, Http, textMessage, type UserId } from "@godwit/sdk";

import { PASSWORD } from "../tests/browser/person.js";

export const CONVERSATIONS = Number(process.env.BENCH_CONVERSATIONS ?? 1_000);
export const MESSAGES = Number(process.env.BENCH_MESSAGES ?? 10_000);
/** The other users. Each has a direct conversation with the user; the other conversations are groups. */
const PEOPLE = 40;
const REQUESTS_AT_ONCE = 24;
const REACTION_EVERY = 25;

export interface World {
  /** The user with all conversations. */
  handle: string;
  /** The other user in the long conversation. */
  other: string;
  long: ConversationId;
}

export async function furnish(url: string): Promise<World> {
  const ada = await registered(url, "ada", "Ada Lovelace");
  const bob = await registered(url, "bob", "Bob Hopper");
  const people = await inParallel(PEOPLE, (index) => registered(url, `person${index}`, `Person ${index}`));
  await inParallel(CONVERSATIONS - 1, async (index) => {
    const writer = people[index % PEOPLE] ?? bob;
    const conversation =
      index < PEOPLE
        ? await writer.http.conversations.direct(ada.id)
        : await group(writer.http, `Group number ${index}`, ada.id);
    await writer.http.messages.send(conversation.id, textMessage(textOf(index)));
  });
  const long = await ada.http.conversations.direct(bob.id);
  await inParallel(MESSAGES, async (index) => {
    const writer = index % 3 === 0 ? bob : ada;
    const sent = await writer.http.messages.send(long.id, textMessage(`${index}. ${textOf(index)}`));
    if (index % REACTION_EVERY === 0) {
      await bob.http.messages.react(sent.value.id, "👍");
    }
  });
  return { handle: "ada", other: "bob", long: long.id };
}

async function registered(url: string, handle: string, name: string) {
  const http = new Http({ baseUrl: url });
  const { user } = await http.auth.register({
    handle,
    display_name: name,
    password: PASSWORD,
    device_name: "bench",
  });
  return { http, id: user.id };
}

async function group(http: Http, name: string, member: UserId): Promise<Conversation> {
  return (await http.conversations.open({ kind: "group", name, member_ids: [member] })).value;
}

/** Realistic texts: short and long ones, some with several lines, links or emoji. */
function textOf(index: number): string {
  const words = Array.from({ length: 3 + ((index * 7) % 40) }, (_, word) => `word${(index + word) % 97}`);
  const ending = index % 11 === 0 ? "\nhttps://example.org/some/page" : index % 7 === 0 ? " 🎉" : "";
  return words.join(" ") + ending;
}

async function inParallel<T>(count: number, work: (index: number) => Promise<T>): Promise<T[]> {
  const done: T[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < count; index = next++) {
      done[index] = await work(index);
    }
  };
  await Promise.all(Array.from({ length: REQUESTS_AT_ONCE }, worker));
  return done;
}
