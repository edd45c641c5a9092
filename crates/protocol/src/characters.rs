//! Which characters texts can have: the server checks by these, and the schemas of the API say them.

use std::ops::RangeInclusive;

/// Characters that nobody sees, or that reorder a text so that it looks like another one. Control characters are not
/// among them: they are nowhere allowed.
pub const DISGUISING: &[RangeInclusive<char>] = &[
    '\u{200b}'..='\u{200b}',
    '\u{200e}'..='\u{200f}',
    '\u{2028}'..='\u{202e}',
    '\u{2060}'..='\u{2069}',
    '\u{feff}'..='\u{feff}',
];

/// Control characters that lay out a text of several lines.
pub const LAYOUT: &[char] = &['\t', '\n', '\r'];

/// A character that no name has.
pub fn is_disguising(c: char) -> bool {
    c.is_control() || DISGUISING.iter().any(|range| range.contains(&c))
}

/// A character that no text of several lines has.
pub fn is_stray_control(c: char) -> bool {
    c.is_control() && !LAYOUT.contains(&c)
}
