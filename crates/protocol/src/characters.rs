//! The characters that texts may contain. The server checks them, and the schemas of the API document them.

use std::ops::RangeInclusive;

/// Characters without a visible glyph: default ignorable code points, interlinear annotation marks, and blank characters that
/// Unicode classifies as symbols or letters.
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

/// Line and paragraph separators. Names must not contain them.
pub const SEPARATORS: &[RangeInclusive<char>] = &['\u{2028}'..='\u{2029}'];

/// Control characters that a multi-line text may contain.
pub const LAYOUT: &[char] = &['\t', '\n', '\r'];

/// Whether a character has no visible glyph. Some scripts and emoji need such characters in certain places.
pub fn is_invisible(c: char) -> bool {
    // Fast path for ASCII.
    c > '\u{ac}' && INVISIBLE.iter().any(|range| range.contains(&c))
}

/// Whether a character is a control character that even a multi-line text must not contain.
pub fn is_stray_control(c: char) -> bool {
    c.is_control() && !LAYOUT.contains(&c)
}
