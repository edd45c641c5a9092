//! Invisible and confusable characters.
//!
//! Unicode has invisible characters: fillers, joiners, variation selectors, tags, direction marks. Some scripts and most
//! emoji need a few of them, each in its own place. Anywhere else they make a name look like another name, or a text look
//! empty.

use godwit_protocol::characters::is_invisible;

/// True for a character that shows nothing by itself: white space, control characters, all characters that Unicode calls
/// default ignorable, and the few blanks that are in none of these classes.
pub(crate) fn is_blank(c: char) -> bool {
    c.is_whitespace() || c.is_control() || is_invisible(c)
}

/// True if a text has a visible character.
pub(crate) fn shows_something(text: &str) -> bool {
    // Most texts begin with a visible character.
    text.chars().any(|c| !is_blank(c))
}

/// True if a name has invisible characters beyond those that its script or its emoji need.
pub(crate) fn is_disguised(name: &str) -> bool {
    let mut tags = Tags::None;
    let mut before: Option<char> = None;
    for c in name.chars() {
        tags = tags.after(c);
        let is_allowed = match c {
            _ if c.is_control() || is_separator(c) => false,
            '\u{200c}' | '\u{200d}' => before.is_some_and(can_be_joined),
            '\u{fe00}'..='\u{fe0f}' => before.is_some_and(has_variants),
            '\u{180b}'..='\u{180d}' | '\u{180f}' => matches!(before, Some('\u{1820}'..='\u{18aa}')),
            '\u{e0100}'..='\u{e01ef}' => before.is_some_and(is_ideograph),
            '\u{e0020}'..='\u{e007f}' => tags != Tags::Broken,
            _ => !is_invisible(c),
        };
        if !is_allowed {
            return true;
        }
        before = Some(c);
    }
    matches!(tags, Tags::Open | Tags::Broken)
}

/// The state of the check of a subdivision flag: a black flag, the letters of its code as tags, and the end tag.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tags {
    None,
    Flag,
    Open,
    /// A tag outside of a flag. The name stays rejected.
    Broken,
}

impl Tags {
    const fn after(self, c: char) -> Self {
        match (self, c) {
            (Self::Broken, _) => Self::Broken,
            (Self::None | Self::Flag, '\u{1f3f4}') => Self::Flag,
            (Self::Flag | Self::Open, '\u{e0030}'..='\u{e0039}' | '\u{e0061}'..='\u{e007a}') => Self::Open,
            (Self::Open, '\u{e007f}') => Self::None,
            (Self::Open, _) | (_, '\u{e0000}'..='\u{e007f}') => Self::Broken,
            (Self::None | Self::Flag, _) => Self::None,
        }
    }
}

/// Line and paragraph separators.
const fn is_separator(c: char) -> bool {
    matches!(c, '\u{2028}' | '\u{2029}')
}

/// Letters of scripts that use joiners and non-joiners (Arabic to Myanmar, Khmer, Mongolian and their relatives), emoji, and
/// the characters that may stand between an emoji and its joiner.
const fn can_be_joined(c: char) -> bool {
    is_symbol(c)
        || matches!(
            c,
            '\u{600}'..='\u{109f}'
                | '\u{1780}'..='\u{17b3}'
                | '\u{17b6}'..='\u{180a}'
                | '\u{1810}'..='\u{1cff}'
                | '\u{a800}'..='\u{abff}'
                | '\u{fb50}'..='\u{fdff}'
                | '\u{fe0f}'
                | '\u{fe70}'..='\u{fefc}'
                | '\u{10800}'..='\u{11fff}'
                | '\u{1e900}'..='\u{1eeff}'
        )
}

/// Characters with several presentations: emoji, symbols, the bases of keycaps, ideographs, and letters of some scripts.
const fn has_variants(c: char) -> bool {
    is_symbol(c)
        || is_ideograph(c)
        || matches!(c, '#' | '*' | '0'..='9' | '\u{1000}'..='\u{109f}' | '\u{2000}'..='\u{200a}' | '\u{2010}'..='\u{218f}')
}

const fn is_symbol(c: char) -> bool {
    matches!(c, '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{27ff}' | '\u{2900}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}' | '\u{1f000}'..='\u{1faff}')
}

const fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3000}'..='\u{303f}' | '\u{3400}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{ff00}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flag of Scotland.
    const SCOTLAND: &str = "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}";

    #[test]
    fn invisible_characters_that_scripts_and_emoji_need_are_allowed() {
        for name in [
            "Ada Lovelace",
            "Zoë Müller-O’Neil",
            "Дарья",
            "小明",
            "葛\u{e0100}城",
            // A non-joiner within a Persian word, and joiners in Indic scripts, at the end of a word too.
            "می\u{200c}خواهم",
            "ක්\u{200d}ෂ",
            "ന്\u{200d}",
            "ᠠ\u{180b}",
            // Families, professions, hearts, keycaps and flags.
            "Ada 👩\u{200d}💻",
            "👨\u{200d}👩\u{200d}👧",
            "🏳\u{fe0f}\u{200d}🌈",
            "❤\u{fe0f}\u{200d}🔥 ❤\u{fe0f}",
            "👩🏽\u{200d}🚀",
            "1\u{fe0f}\u{20e3}",
            SCOTLAND,
            "Isla 🏴 of Skye",
            "🇪🇸",
        ] {
            assert!(!is_disguised(name), "{name:?} was taken for a disguise");
            assert!(shows_something(name), "{name:?} shows nothing");
        }
    }

    #[test]
    fn other_invisible_characters_are_disguises() {
        for name in [
            "a\nb",
            "a\0b",
            "a\u{2028}b",
            // Direction.
            "a\u{202e}b",
            "a\u{2066}b\u{2069}",
            "a\u{200e}b",
            "\u{61c}a",
            // Invisible padding.
            "a\u{200b}b",
            "\u{feff}a",
            "a\u{ad}b",
            "a\u{2060}b",
            "a\u{34f}b",
            "a\u{3164}b",
            "a\u{ffa0}",
            "a\u{115f}",
            "a\u{2800}b",
            "a\u{180e}b",
            "a\u{fff9}b",
            // Joiners and selectors without anything to join or select.
            "ad\u{200d}min",
            "ad\u{200c}min",
            "adm\u{fe0f}in",
            "a\u{e0100}",
            "\u{200d}a",
            "👩\u{200d}\u{200d}💻",
            "м\u{200d}а",
            // Tags that form no flag, or only part of one.
            "a\u{e0061}\u{e0064}",
            "\u{e0001}a",
            "\u{1f3f4}\u{e0067}\u{e0062}",
            "\u{1f3f4}\u{e0067}\u{e0062}!",
            "\u{1f3f4}\u{e007f}",
            "\u{1f3f4}\u{e0067}!\u{e007f}",
        ] {
            assert!(is_disguised(name), "{name:?} was not taken for a disguise");
        }
    }

    #[test]
    fn blank_texts_show_nothing() {
        for text in [
            "",
            " \t\n",
            "\u{3164}",
            "\u{2800}\u{2800}",
            "\u{ad}",
            "\u{200b}\u{200d}\u{fe0f}",
            "\u{e0061}\u{e007f}",
            "\u{202e}",
            "\u{115f}\u{1160}",
            "\u{3000}",
        ] {
            assert!(!shows_something(text), "{text:?} was taken for something");
        }
        for text in [".", "👍🏽", "\u{200f}שלום", "a\u{ad}b", SCOTLAND] {
            assert!(shows_something(text), "{text:?} was taken for nothing");
        }
    }
}
