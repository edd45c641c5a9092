//! How a field says that its value is not allowed.

use std::borrow::Cow;

use godwit_protocol::Timestamp;
use godwit_protocol::limits::{PAGE_DEFAULT, PAGE_MAX};
use serde::{Deserialize, Serialize};
use thiserror::Error;

/// A value of the right type that is not allowed.
#[derive(Debug, Clone, PartialEq, Eq, Error, Serialize, Deserialize)]
#[error("{field} {reason}")]
pub struct InvalidField {
    pub field: Cow<'static, str>,
    pub reason: String,
}

impl InvalidField {
    pub fn new(field: &'static str, reason: impl Into<String>) -> Self {
        Self { field: field.into(), reason: reason.into() }
    }
}

/// Text for one line: trimmed, not empty, without characters that would break the line or disguise it.
pub(crate) fn single_line(
    field: &'static str,
    text: &str,
    chars_max: usize,
) -> Result<Box<str>, InvalidField> {
    let text = text.trim();
    if text.is_empty() {
        return Err(InvalidField::new(field, "must not be empty"));
    }
    if text.chars().count() > chars_max {
        return Err(InvalidField::new(field, format!("must have at most {chars_max} characters")));
    }
    if text.chars().any(is_disguising) {
        return Err(InvalidField::new(field, "must not contain control characters"));
    }
    Ok(text.into())
}

/// Text of several lines: trimmed, not empty, without control characters but line breaks and tabs.
pub(crate) fn text(field: &'static str, text: &str, chars_max: usize) -> Result<Box<str>, InvalidField> {
    let text = text.trim();
    if text.is_empty() {
        return Err(InvalidField::new(field, "must not be empty"));
    }
    if text.chars().count() > chars_max {
        return Err(InvalidField::new(field, format!("must have at most {chars_max} characters")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(InvalidField::new(field, "must not contain control characters but line breaks and tabs"));
    }
    Ok(text.into())
}

/// Control characters, line separators, and the invisible ones that reorder or pad a text to look like another.
pub(crate) fn is_disguising(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// An `http` or `https` URL within a size, kept as it was written. It is never fetched by the server.
pub(crate) fn url(field: &'static str, text: &str, bytes_max: usize) -> Result<Box<str>, InvalidField> {
    let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
    if text.len() > bytes_max {
        return Err(InvalidField::new(field, format!("must have at most {bytes_max} bytes")));
    }
    match rest {
        Some(rest) if !rest.is_empty() && rest.bytes().all(|b| b.is_ascii_graphic()) => Ok(text.into()),
        _ => Err(InvalidField::new(field, "must be an http or https URL of printable ASCII characters")),
    }
}

/// Text of a bounded size that is kept as it is.
pub(crate) fn bounded(field: &'static str, text: &str, bytes_max: usize) -> Result<Box<str>, InvalidField> {
    if text.is_empty() || text.len() > bytes_max {
        return Err(InvalidField::new(field, format!("must have 1 to {bytes_max} bytes")));
    }
    Ok(text.into())
}

/// How many items a page has: as many as asked for, if that is allowed.
pub fn page_limit(asked: Option<u16>) -> Result<usize, InvalidField> {
    match asked.unwrap_or(PAGE_DEFAULT) {
        limit @ 1..=PAGE_MAX => Ok(usize::from(limit)),
        _ => Err(InvalidField::new("limit", format!("must be 1 to {PAGE_MAX}"))),
    }
}

/// How many of the items, from the first on, have no more than so many bytes together; one at least.
pub(crate) fn count_within<T>(bytes_max: usize, items: &[T], size_bytes: impl Fn(&T) -> usize) -> usize {
    let mut bytes = 0;
    let within = items.iter().take_while(|item| {
        bytes += size_bytes(item);
        bytes <= bytes_max
    });
    within.count().max(1)
}

/// A point in time that lies ahead.
pub(crate) fn future(
    field: &'static str,
    time: Timestamp,
    now: Timestamp,
) -> Result<Timestamp, InvalidField> {
    if time > now { Ok(time) } else { Err(InvalidField::new(field, "must lie in the future")) }
}
