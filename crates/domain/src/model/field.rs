//! Validation of single fields, and the error that names the field.

use std::borrow::Cow;

use godwit_protocol::Timestamp;
use godwit_protocol::characters::is_stray_control;
use godwit_protocol::limits::{PAGE_DEFAULT, PAGE_MAX};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::characters;

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

/// A text on one line, such as a name: trimmed, with a visible character, and without stray invisible ones.
pub(crate) fn single_line(
    field: &'static str,
    text: &str,
    chars_max: usize,
) -> Result<Box<str>, InvalidField> {
    let text = visible(field, text, chars_max)?;
    if characters::is_disguised(text) {
        return Err(InvalidField::new(field, "must not contain control characters or invisible characters"));
    }
    Ok(text.into())
}

/// A text of several lines: trimmed, with a visible character, and without control characters other than line breaks and
/// tabs.
pub(crate) fn text(field: &'static str, text: &str, chars_max: usize) -> Result<Box<str>, InvalidField> {
    let text = visible(field, text, chars_max)?;
    if text.chars().any(is_stray_control) {
        return Err(InvalidField::new(
            field,
            "must not contain control characters other than line breaks and tabs",
        ));
    }
    Ok(text.into())
}

fn visible<'a>(field: &'static str, text: &'a str, chars_max: usize) -> Result<&'a str, InvalidField> {
    let text = text.trim();
    if text.is_empty() {
        return Err(InvalidField::new(field, "must not be empty"));
    }
    if text.chars().count() > chars_max {
        return Err(InvalidField::new(field, format!("must have at most {chars_max} characters")));
    }
    if !characters::shows_something(text) {
        return Err(InvalidField::new(field, "must contain a visible character"));
    }
    Ok(text)
}

/// An `http` or `https` URL of bounded length, unchanged. The server never fetches it.
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

/// A text of bounded size in bytes, unchanged.
pub(crate) fn bounded(field: &'static str, text: &str, bytes_max: usize) -> Result<Box<str>, InvalidField> {
    if text.is_empty() || text.len() > bytes_max {
        return Err(InvalidField::new(field, format!("must have 1 to {bytes_max} bytes")));
    }
    Ok(text.into())
}

/// A text of bounded length in characters, unchanged.
pub(crate) fn kept(field: &'static str, text: &str, chars_max: usize) -> Result<Box<str>, InvalidField> {
    if text.is_empty() || text.chars().count() > chars_max {
        return Err(InvalidField::new(field, format!("must have 1 to {chars_max} characters")));
    }
    Ok(text.into())
}

/// A number up to a limit.
pub(crate) fn at_most<T: Copy + PartialOrd + std::fmt::Display>(
    field: &'static str,
    number: T,
    max: T,
) -> Result<T, InvalidField> {
    if number > max {
        return Err(InvalidField::new(field, format!("must be at most {max}")));
    }
    Ok(number)
}

/// The page size that the client asked for, if it is allowed.
pub fn page_limit(asked: Option<u16>) -> Result<usize, InvalidField> {
    match asked.unwrap_or(PAGE_DEFAULT) {
        limit @ 1..=PAGE_MAX => Ok(usize::from(limit)),
        _ => Err(InvalidField::new("limit", format!("must be 1 to {PAGE_MAX}"))),
    }
}

/// The number of leading items that fit into `bytes_max` bytes together; at least one.
pub(crate) fn count_within<T>(bytes_max: usize, items: &[T], size_bytes: impl Fn(&T) -> usize) -> usize {
    let mut bytes = 0;
    let within = items.iter().take_while(|item| {
        bytes += size_bytes(item);
        bytes <= bytes_max
    });
    within.count().max(1)
}

/// A time in the future.
pub(crate) fn future(
    field: &'static str,
    time: Timestamp,
    now: Timestamp,
) -> Result<Timestamp, InvalidField> {
    if time > now { Ok(time) } else { Err(InvalidField::new(field, "must be in the future")) }
}
