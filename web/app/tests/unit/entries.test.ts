import type { Conversation, LogEntry, Message } from "@godwit/sdk";
import { describe, expect, it } from "vitest";

import {
  conversationAfter,
  messageAfter,
  messageWithout,
  noticeOf,
  withCursor,
} from "../../src/model/entries.js";
import { progressOf } from "../../src/model/status.js";
import { conversation, message, messageEntry } from "./samples.js";

const AT = "2026-03-01T12:00:00Z";

describe("a conversation", () => {
  it("counts messages from others as unread until the user sends one", () => {
    const said = [
      messageEntry(message(2, "bob", "hi")),
      messageEntry({ ...message(3, "bob", "you, @ada"), mentions: { user_ids: ["ada"] } }),
    ].reduce((one: Conversation, entry) => conversationAfter(one, entry, "ada"), conversation(1));
    expect(said).toMatchObject({ head: 3, unread: 2, unread_mentions: 1 });
    expect(said.last_message).toMatchObject({ seq: 3, preview: "you, @ada" });
    const answered = conversationAfter(said, messageEntry(message(4, "ada", "yes")), "ada");
    expect(answered).toMatchObject({ unread: 0, unread_mentions: 0 });
  });

  it("applies each entry once", () => {
    const once = conversationAfter(conversation(1), messageEntry(message(2, "bob", "hi")), "ada");
    expect(conversationAfter(once, messageEntry(message(2, "bob", "hi")), "ada")).toBe(once);
  });

  it("shows the edit and the deletion of its last message", () => {
    const said = conversationAfter(conversation(1), messageEntry(message(2, "bob", "helo")), "ada");
    const edit: LogEntry = {
      type: "edited",
      seq: 3,
      at: AT,
      by: "bob",
      message_id: "m2",
      message_seq: 2,
      text: "hello",
    };
    const gone: LogEntry = { type: "deleted", seq: 4, at: AT, by: "bob", message_id: "m2", message_seq: 2 };
    const edited = conversationAfter(said, edit, "ada");
    expect(edited.last_message?.preview).toBe("hello");
    expect(conversationAfter(edited, gone, "ada").last_message).toMatchObject({ preview: "", deleted: true });
  });

  it("tracks details, pins and members", () => {
    const entries: LogEntry[] = [
      { type: "details_changed", seq: 2, at: AT, by: "bob", name: "Waders" },
      { type: "pinned", seq: 3, at: AT, by: "bob", message_id: "m1", message_seq: 1 },
      { type: "members_added", seq: 4, at: AT, by: "bob", user_ids: ["cyd", "dan"] },
      { type: "member_left", seq: 5, at: AT, user_id: "dan" },
      { type: "role_changed", seq: 6, at: AT, by: "bob", user_id: "ada", role: "admin" },
    ];
    const now = entries.reduce((one, entry) => conversationAfter(one, entry, "ada"), conversation(1));
    expect(now).toMatchObject({
      name: "Waders",
      pinned_message_ids: ["m1"],
      member_count: 3,
      me: { role: "admin" },
    });
    expect(now.cursors?.map((cursor) => cursor.user_id)).toEqual(["bob", "cyd"]);
  });

  it("has no pin of a deleted message", () => {
    const pinned = { ...conversation(3), pinned_message_ids: ["m2", "m1"] };
    const gone: LogEntry = { type: "deleted", seq: 4, at: AT, by: "bob", message_id: "m2", message_seq: 2 };
    expect(conversationAfter(pinned, gone, "ada").pinned_message_ids).toEqual(["m1"]);
  });

  it("moves cursors forward only", () => {
    const moved = withCursor(conversation(1), { user_id: "bob", delivered: 9, read: 5 }, "ada");
    expect(moved.cursors).toEqual([{ user_id: "bob", delivered: 9, read: 5 }]);
    expect(withCursor(moved, { user_id: "bob", delivered: 8, read: 4 }, "ada")).toBe(moved);
    const own = withCursor(moved, { user_id: "ada", delivered: 9, read: 7 }, "ada");
    expect(own.me).toMatchObject({ delivered: 9, read: 7 });
    expect(withCursor(own, { user_id: "ada", delivered: 9, read: 6 }, "ada")).toBe(own);
  });
});

describe("a message", () => {
  const quote = { message_id: "m2", seq: 2, sender_id: "bob", kind: "text" as const, preview: "secret" };
  const replyTo2: Message = { ...message(3, "ada", "what?"), quote };
  const reacted: LogEntry = {
    type: "reacted",
    seq: 9,
    at: AT,
    message_id: "m2",
    message_seq: 2,
    changes: [{ user_id: "ada", reaction: "👍" }],
    reactions: [{ reaction: "👍", count: 2 }],
  };

  it("derives the user's own reaction from a shared entry", () => {
    const after = messageAfter(message(2, "bob", "hi"), reacted, "ada");
    expect(after).toMatchObject({ my_reaction: "👍", reactions: [{ reaction: "👍", count: 2 }] });
    expect(messageAfter(message(2, "bob", "hi"), reacted, "bob")?.my_reaction).toBeNull();
  });

  it("loses its content when it is deleted, including in quotes", () => {
    const gone: LogEntry = { type: "deleted", seq: 4, at: AT, by: "bob", message_id: "m2", message_seq: 2 };
    expect(messageAfter(message(2, "bob", "secret"), gone, "ada")).toMatchObject({
      text: null,
      deleted_at: AT,
    });
    expect(messageAfter(replyTo2, gone, "ada")?.quote).toMatchObject({ preview: "", deleted: true });
  });

  it("is removed when it expires, and quotes lose its content", () => {
    const entry: LogEntry = { type: "expired", seq: 4, at: AT, message_ids: ["m2"] };
    expect(messageAfter(message(2, "bob", "hi"), entry, "ada")).toBeUndefined();
    expect(messageAfter(replyTo2, entry, "ada")?.quote).toMatchObject({ preview: "", deleted: true });
  });

  it("is removed when the user deletes it for themselves, also from quotes", () => {
    const hidden = new Set(["m2"]);
    expect(messageWithout(message(2, "bob", "secret"), hidden)).toBeUndefined();
    expect(messageWithout(replyTo2, hidden)).toEqual({ ...replyTo2, quote: null });
    const other = message(4, "bob", "hi");
    expect(messageWithout(other, hidden)).toBe(other);
  });
});

describe("notices", () => {
  it("exist for visible changes, except where they would be too frequent", () => {
    const joined: LogEntry = { type: "member_joined", seq: 4, at: AT, user_id: "cyd" };
    expect(noticeOf(conversation(1), joined)).toMatchObject({
      kind: "system",
      event: "member.joined",
      seq: 4,
    });
    expect(noticeOf({ ...conversation(1), large: true }, joined)).toBeUndefined();
    expect(noticeOf(conversation(1), messageEntry(message(2, "bob", "hi")))).toBeUndefined();
  });
});

describe("progress", () => {
  const others = (...cursors: [number, number][]) => ({
    large: false,
    member_count: cursors.length + 1,
    cursors: cursors.map(([delivered, read], index) => ({ user_id: `u${index}`, delivered, read })),
  });

  it("is that of the member who is furthest behind", () => {
    expect(progressOf(others([9, 9], [3, 1]), 4, "ada", "SENT")).toBe("sent");
    expect(progressOf(others([9, 9], [4, 1]), 4, "ada", "SENT")).toBe("delivered");
    expect(progressOf(others([9, 9], [4, 4]), 4, "ada", "SENT")).toBe("read");
  });

  it("is the status from the server if there are no cursors", () => {
    expect(progressOf({ large: true, member_count: 900, cursors: [] }, 4, "ada", "DELIVERED")).toBe(
      "delivered",
    );
    expect(progressOf({ large: false, member_count: 2 }, 4, "ada", "READ")).toBe("read");
  });

  it("is the status from the server until all cursors are known", () => {
    const some = { ...others([9, 9], [9, 9]), member_count: 4 };
    expect(progressOf(some, 4, "ada", "SENT")).toBe("sent");
  });
});
