import { describe, expect, it } from "vitest";

import {
  completedMention,
  EMOJI,
  hueOf,
  initialsOf,
  isolated,
  isOnlyEmoji,
  matchesSearch,
  mentionAt,
  messagePreview,
  onOneLine,
  rowsOf,
  segmentsOf,
} from "../../src/text/index.js";

describe("segments", () => {
  it("finds links without the punctuation that follows them", () => {
    expect(segmentsOf("See https://example.org/a_(b), then www.example.com.")).toEqual([
      { type: "text", text: "See " },
      { type: "link", text: "https://example.org/a_(b)", href: "https://example.org/a_(b)" },
      { type: "text", text: ", then " },
      { type: "link", text: "www.example.com", href: "https://www.example.com" },
      { type: "text", text: "." },
    ]);
  });

  it("ends a link at a bidirectional control character", () => {
    const [link] = segmentsOf("https://example.org/\u202Emoc.live");
    expect(link).toEqual({ type: "link", text: "https://example.org/", href: "https://example.org/" });
  });

  it("makes links only of http and https URLs", () => {
    for (const text of ["javascript:alert(1)", "data:text/html,x", "file:///etc/passwd", "<a href=x>"]) {
      expect(segmentsOf(text)).toEqual([{ type: "text", text }]);
    }
  });

  it("finds mentions, but not in email addresses", () => {
    expect(segmentsOf("@Ada. ada@example.org @x")).toEqual([
      { type: "mention", text: "@Ada", handle: "ada" },
      { type: "text", text: ". ada@example.org @x" },
    ]);
  });

  it("preserves every text", () => {
    for (const text of ["", "a\nb", "\u202Eabc", "http://", "@all @@ada www. https://x)"]) {
      expect(
        segmentsOf(text)
          .map((segment) => segment.text)
          .join(""),
      ).toBe(text);
    }
  });

  it("detects texts of a few emoji", () => {
    for (const text of ["👍", "❤️ 🎉", "👨‍👩‍👧", "🇪🇸", "👍🏽"]) {
      expect(isOnlyEmoji(text), text).toBe(true);
    }
    for (const text of ["", "1", "ok 👍", "👍👍👍👍", "#"]) {
      expect(isOnlyEmoji(text), text).toBe(false);
    }
  });
});

describe("mentions that are typed", () => {
  it("start at the beginning of a word", () => {
    expect(mentionAt("hi @ad", 6)).toEqual({ start: 3, query: "ad" });
    expect(mentionAt("@", 1)).toEqual({ start: 0, query: "" });
    expect(mentionAt("me@ad", 5)).toBeUndefined();
    expect(mentionAt("hi @ad there", 12)).toBeUndefined();
  });

  it("are completed with one space", () => {
    expect(completedMention("hi @ad!", { start: 3, query: "ad" }, "ada")).toEqual({
      text: "hi @ada !",
      caret: 8,
    });
    expect(completedMention("hi @ad you", { start: 3, query: "ad" }, "ada")).toEqual({
      text: "hi @ada you",
      caret: 8,
    });
  });
});

describe("rows", () => {
  const placed = (seq: number, senderId: string, at: string, isNotice = false) => ({
    key: String(seq),
    seq,
    senderId,
    at,
    isNotice,
  });

  it("separates days, groups a sender's messages and has one line before new messages", () => {
    const messages = [
      placed(1, "ada", "2026-03-01T12:00:00"),
      placed(2, "ada", "2026-03-01T12:01:00"),
      placed(3, "bob", "2026-03-01T12:02:00"),
      placed(4, "bob", "2026-03-01T12:03:00", true),
      placed(5, "bob", "2026-03-02T12:00:00"),
      placed(6, "bob", "2026-03-02T12:20:00"),
    ];
    const shown = rowsOf(messages, 4, "ada").map((row) =>
      row.type === "message" ? `${row.key}${row.first ? "(" : ""}${row.last ? ")" : ""}` : row.type,
    );
    expect(shown).toEqual(["day", "1(", "2)", "3()", "notice", "day", "unread", "5()", "6()"]);
  });

  it("has no line before own messages", () => {
    expect(rowsOf([placed(2, "ada", "2026-03-01T12:00:00")], 1, "ada").map((row) => row.type)).toEqual([
      "day",
      "message",
    ]);
  });
});

describe("names", () => {
  it("have initials in every script", () => {
    expect(initialsOf("Ada Lovelace")).toBe("AL");
    expect(initialsOf("bob.smith")).toBe("BS");
    expect(initialsOf("🦆 pond")).toBe("🦆P");
    expect(initialsOf("<b>")).toBe("B");
    expect(initialsOf("\u202E")).toBe("");
    expect(initialsOf("Z̸̢̛̲a̵l̶g̷o")).toHaveLength(1);
  });

  it("have a stable colour", () => {
    expect(hueOf("42")).toBe(hueOf("42"));
    expect(hueOf("123456789")).toBeLessThan(8);
  });

  it("are found by their words, without accents", () => {
    expect(matchesSearch("José Pérez", "per jos")).toBe(true);
    expect(matchesSearch("José Pérez", "erez")).toBe(false);
  });
});

describe("previews", () => {
  it("are short and on one line", () => {
    expect(onOneLine(" a\n\n b ")).toBe("a b");
    expect(onOneLine("😀".repeat(300))).toBe("😀".repeat(100));
  });

  it("do not change the direction of what is next to them", () => {
    expect(onOneLine("a \u202egnp.exe\u202c \u2066 \u2067b\u2069")).toBe("a gnp.exe b");
    expect(onOneLine("\u202e a \u200fשלום")).toBe("a \u200fשלום");
  });

  it("of files without a text are their names", () => {
    const media = { url: "https://example.org/1", content_type: "text/plain", size_bytes: 1 };
    expect(messagePreview({ text: null, media: { ...media, name: "a  \u202eb.txt" } })).toBe("a b.txt");
    expect(messagePreview({ text: "a caption", media: { ...media, name: "b.txt" } })).toBe("a caption");
    expect(messagePreview({ text: null, media })).toBe("");
    expect(messagePreview({})).toBe("");
  });
});

describe("the emoji that can be picked", () => {
  it("are emoji, each once in its category", () => {
    for (const { emoji, id } of EMOJI) {
      expect(new Set(emoji).size, id).toBe(emoji.length);
      expect(
        emoji.filter((one) => !/\p{Emoji}/u.test(one)),
        id,
      ).toEqual([]);
    }
  });
});

describe("a name in a sentence", () => {
  it("cannot escape its isolate", () => {
    expect(isolated("Ada")).toBe("\u2068Ada\u2069");
    expect(isolated("A\u2069\u202eda")).toBe("\u2068Ada\u2069");
  });
});
