//! Texts: validation, previews and mentioned names.

use godwit_protocol::characters::is_stray_control;
use godwit_protocol::limits::{
    MENTIONS_PER_MESSAGE_MAX, PREVIEW_CHARS_MAX, REACTION_CHARS_MAX, TEXT_CHARS_MAX,
};

use crate::model::characters;
use crate::model::field::InvalidField;

/// The beginning of a text, on one line. Without bidirectional overrides and isolates: cut off before their end they would
/// change the direction of whatever a client shows next to the preview.
pub(crate) fn preview_of(text: &str) -> Box<str> {
    let text = text.trim();
    let seen = &text.as_bytes()[..text.len().min(PREVIEW_CHARS_MAX + 1)];
    // A fast path for texts that are already on one line. Looking at bytes is faster than splitting words.
    let has_one_line =
        seen.iter().all(|byte| matches!(byte, b' '..=b'~')) && seen.windows(2).all(|pair| pair != b"  ");
    if has_one_line {
        return shortened(text);
    }
    let mut line = String::new();
    for word in text.split_whitespace() {
        let shown = word.chars().filter(|c| !changes_direction(*c));
        let end = line.len();
        line.extend(shown);
        if end > 0 && line.len() > end {
            line.insert(end, ' ');
        }
        if line.len() > PREVIEW_CHARS_MAX * 4 {
            break;
        }
    }
    shortened(&line)
}

/// Embeddings, overrides and isolates, and the characters that end them.
const fn changes_direction(c: char) -> bool {
    matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn shortened(line: &str) -> Box<str> {
    let mut ends = line.char_indices().skip(PREVIEW_CHARS_MAX - 1).map(|(end, _)| end);
    match (ends.next(), ends.next()) {
        (Some(end), Some(_)) => format!("{}…", line[..end].trim_end()).into(),
        _ => line.into(),
    }
}

/// The distinct words of a text that begin with `@` and can be handles, at most [`MENTIONS_PER_MESSAGE_MAX`].
pub(crate) fn called_names(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let mut names = Vec::new();
    for (at, _) in text.match_indices('@') {
        if text[..at].chars().next_back().is_some_and(|before| before.is_alphanumeric() || is_part(before)) {
            continue;
        }
        let rest = &text[at + 1..];
        let name = &rest[..rest.find(|c| !is_part(c)).unwrap_or(rest.len())];
        // A name may be followed by the full stop of a sentence.
        let name = name.trim_end_matches('.');
        if !name.is_empty() && !names.contains(&name) {
            names.push(name);
            if names.len() == MENTIONS_PER_MESSAGE_MAX {
                break;
            }
        }
    }
    names
}

/// A reaction: one emoji with all its modifiers, or a short word. Does not check for a single grapheme, because new emoji
/// appear faster than library updates.
pub fn parse_reaction(text: &str) -> Result<Box<str>, InvalidField> {
    let is_visible = characters::shows_something(text) && !characters::is_disguised(text);
    let is_short = (1..=REACTION_CHARS_MAX).contains(&text.chars().count());
    if is_short && is_visible && !text.contains(char::is_whitespace) {
        Ok(text.into())
    } else {
        let reason = format!(
            "must have 1 to {REACTION_CHARS_MAX} characters, without spaces, control and invisible characters"
        );
        Err(InvalidField::new("reaction", reason))
    }
}

pub(crate) fn parse_text(text: String) -> Result<Box<str>, InvalidField> {
    // A text never has more characters than bytes, and its length in bytes is known.
    if text.len() > TEXT_CHARS_MAX && text.chars().count() > TEXT_CHARS_MAX {
        return Err(InvalidField::new("text", format!("must have at most {TEXT_CHARS_MAX} characters")));
    }
    if text.trim().is_empty() {
        return Err(InvalidField::new("text", "must not be empty"));
    }
    if !characters::shows_something(&text) {
        return Err(InvalidField::new("text", "must contain a visible character"));
    }
    let is_plain_ascii = text.bytes().all(|b| matches!(b, b' '..=b'~'));
    if !is_plain_ascii && text.chars().any(is_stray_control) {
        return Err(InvalidField::new(
            "text",
            "must not contain control characters other than line breaks and tabs",
        ));
    }
    Ok(text.into())
}
