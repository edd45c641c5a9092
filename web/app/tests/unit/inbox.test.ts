import type { Conversation, Membership } from "@godwit/sdk";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";

import { Inbox, isMuted } from "../../src/model/inbox.js";
import { hasAllCursors, progressOf } from "../../src/model/status.js";
import { conversation, message, messageEntry } from "./samples.js";

const DAY_MS = 86_400_000;

function one(id: string, fields: Partial<Conversation> = {}, me: Partial<Membership> = {}): Conversation {
  const plain = conversation(5);
  return { ...plain, id, ...fields, me: { ...plain.me, ...me } };
}

function inboxOf(...conversations: Conversation[]): Inbox {
  const inbox = new Inbox("ada");
  conversations.forEach((each) => inbox.put(each));
  vi.runAllTimers();
  return inbox;
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe("the inbox", () => {
  it("sorts pinned conversations first in their order, then by latest activity", () => {
    const inbox = inboxOf(
      one("old", { last_activity_at: "2026-03-01T10:00:00.000Z" }),
      one("second", { last_activity_at: "2026-01-02T10:00:00.000Z" }, { pinned: true, pin_place: 1 }),
      one("first", { last_activity_at: "2026-01-01T10:00:00.000Z" }, { pinned: true, pin_place: -3 }),
      one("new", { last_activity_at: "2026-03-02T10:00:00.000Z" }),
    );
    expect(inbox.sorted.value.map(({ id }) => id)).toEqual(["first", "second", "new", "old"]);
  });

  it("drops the peer's marks in direct conversations, but none in groups", () => {
    const cursors = [
      { user_id: "ada", delivered: 5, read: 5 },
      { user_id: "bob", delivered: 5, read: 3 },
    ];
    const inbox = inboxOf(one("a", { kind: "direct", cursors }), one("b", { kind: "group", cursors }));
    inbox.forgetMarks();
    expect(inbox.get("a")?.cursors).toEqual(cursors.slice(0, 1));
    expect(inbox.get("b")?.cursors).toEqual(cursors);
  });

  it("renames a direct conversation with its peer", () => {
    const peer = { id: "bob", handle: "bob", display_name: "Bob" };
    const inbox = inboxOf(one("a", { kind: "direct", name: "Bob", peer }), one("b"));
    expect(inbox.setPeer({ ...peer, display_name: "Robert" })).toBe("a");
    expect(inbox.get("a")).toMatchObject({ name: "Robert", peer: { display_name: "Robert" } });
    expect(inbox.setPeer({ ...peer, id: "eve" })).toBeUndefined();
  });

  it("counts unread messages, but not of muted or archived conversations", () => {
    const tomorrow = new Date(Date.now() + DAY_MS).toISOString();
    const yesterday = new Date(Date.now() - DAY_MS).toISOString();
    const inbox = inboxOf(
      one("a", { unread: 2 }),
      one("b", { unread: 4 }, { muted_until: tomorrow }),
      one("c", { unread: 8 }, { muted_until: yesterday }),
      one("d", { unread: 16 }, { archived: true }),
    );
    expect(inbox.unreadTotal.value).toBe(10);
    expect(isMuted(one("e"), Date.now())).toBe(false);
  });

  it("ignores a response that is older than applied entries", () => {
    const inbox = inboxOf(one("c"));
    inbox.apply("c", messageEntry(message(6, "bob", "new")));
    inbox.put(one("c"));
    expect(inbox.get("c")?.last_message?.preview).toBe("new");
    expect(inbox.get("c")?.unread).toBe(1);
  });

  it("drops the cursors of others when entries were skipped", () => {
    const cursors = [
      { user_id: "bob", delivered: 9, read: 9 },
      { user_id: "cay", delivered: 9, read: 9 },
    ];
    const inbox = inboxOf(one("c", { member_count: 3, cursors }));
    const listed = one("c", { member_count: 3 });
    delete listed.cursors;
    inbox.put(listed);
    expect(inbox.get("c")?.cursors).toEqual(cursors);
    // Cay left and Dan joined.
    inbox.put({ ...listed, head: 7 });
    const now = inbox.get("c");
    expect(now?.head).toBe(7);
    expect(now && hasAllCursors(now, "ada")).toBe(false);
    expect(now && progressOf(now, 5, "ada", "SENT")).toBe("sent");
    inbox.moveCursor("c", { user_id: "bob", delivered: 9, read: 9 });
    expect(inbox.get("c")?.cursors).toEqual([{ user_id: "bob", delivered: 9, read: 9 }]);
  });

  it("reports whether the conversation of an entry is known", () => {
    const inbox = inboxOf(one("c"));
    expect(inbox.apply("c", messageEntry(message(6, "bob", "hi")))).toBe(true);
    expect(inbox.apply("d", messageEntry(message(6, "bob", "hi")))).toBe(false);
  });

  it("removes the unread mark for a new read position, not for an old one", () => {
    const inbox = inboxOf(one("c", { unread: 3, unread_mentions: 2 }));
    inbox.setRead("c", 5, 1);
    expect(inbox.get("c")).toMatchObject({ unread: 1, unread_mentions: 1 });
    inbox.setMembership("c", { marked_unread: true });
    inbox.setRead("c", 4, 3);
    inbox.setRead("c", 5, 0);
    expect(inbox.get("c")).toMatchObject({ unread: 0, me: { marked_unread: true } });
    inbox.setRead("c", 6, 0);
    expect(inbox.get("c")?.me.marked_unread).toBe(false);
  });
});
