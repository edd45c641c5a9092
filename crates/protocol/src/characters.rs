//! The characters that texts may have. The server checks them, and the schemas of the API state them.

use std::ops::RangeInclusive;

/// Characters that show nothing by themselves: default ignorable code points, annotation marks, and blanks that are symbols
/// by name.
pub const INVISIBLE: &[RangeInclusive<char>] = &[
    '\u{ad}'..='\u{ad}',
    '\u{34f}'..='\u{34f}',
    '\u{61c}'..='\u{61c}',
    '\u{115f}'..='\u{1160}',
    '\u{17b4}'..='\u{17b5}',
    '\u{180b}'..='\u{180f}',
    '\u{200b}'..='\u{200f}',
    '\u{202a}'..='\u{202e}',
    '\u{2060}'..='\u{206f}',
    '\u{2800}'..='\u{2800}',
    '\u{3164}'..='\u{3164}',
    '\u{fe00}'..='\u{fe0f}',
    '\u{feff}'..='\u{feff}',
    '\u{ffa0}'..='\u{ffa0}',
    '\u{fff0}'..='\u{fffb}',
    '\u{1bca0}'..='\u{1bca3}',
    '\u{1d159}'..='\u{1d159}',
    '\u{1d173}'..='\u{1d17a}',
    '\u{e0000}'..='\u{e0fff}',
];

/// Line and paragraph separators, which no name has.
pub const SEPARATORS: &[RangeInclusive<char>] = &['\u{2028}'..='\u{2029}'];

/// Control characters that lay out a text of several lines.
pub const LAYOUT: &[char] = &['\t', '\n', '\r'];

/// Whether a character shows nothing by itself. Scripts and emoji need some of them, each in its own place.
pub fn is_invisible(c: char) -> bool {
    // Most characters are of ASCII.
    c > '\u{ac}' && INVISIBLE.iter().any(|range| range.contains(&c))
}

/// A character that no text of several lines has.
pub fn is_stray_control(c: char) -> bool {
    c.is_control() && !LAYOUT.contains(&c)
}
