//! The stamp at the start of every text: its stream, its number, and the time at which it was due.
//!
//! `~gw~` and then 32 hexadecimal digits: eight for the stream (a sender in a conversation), eight for the number in it,
//! sixteen for the nanoseconds. The stamp is ASCII that neither JSON nor XML escapes, so that it can be found in the frames
//! of any messenger.

use std::iter::repeat_n;

use memchr::memchr_iter;

const MARK: &[u8; 4] = b"~gw~";
const DIGITS: usize = 32;
/// The minimum length of a text.
pub(crate) const STAMP_BYTES: usize = MARK.len() + DIGITS;
/// Pads a text to its length.
const FILLING: u8 = b'.';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    pub(crate) stream: u32,
    /// From 1 on.
    pub(crate) number: u32,
    pub(crate) sent_ns: u64,
}

impl Stamp {
    /// Writes a text of the given length into `text`, which is reused.
    pub(crate) fn write(self, text: &mut Vec<u8>, bytes: usize) {
        text.clear();
        text.extend_from_slice(MARK);
        let both = u64::from(self.stream) << 32 | u64::from(self.number);
        for number in [both, self.sent_ns] {
            text.extend((0..16).rev().map(|place| digit((number >> (4 * place)) as u8 & 0xf)));
        }
        text.extend(repeat_n(FILLING, bytes.saturating_sub(STAMP_BYTES)));
    }

    /// The first stamp in a frame.
    pub(crate) fn find(frame: &[u8]) -> Option<Self> {
        Self::all(frame).next()
    }

    /// All stamps of a page. Searches for their first byte, which is rare in server frames and faster to find than the whole
    /// mark.
    pub(crate) fn all(page: &[u8]) -> impl Iterator<Item = Self> + Clone + '_ {
        memchr_iter(MARK[0], page).filter_map(|start| Self::parse(&page[start..]))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let digits = bytes.strip_prefix(MARK)?.get(..DIGITS)?;
        let (both, sent_ns) = (number(&digits[..16])?, number(&digits[16..])?);
        Some(Self { stream: (both >> 32) as u32, number: both as u32, sent_ns })
    }
}

const fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + value - 10 }
}

fn number(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |number, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(number << 4 | u64::from(value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stamps_are_found_in_any_encoding() {
        let stamp = Stamp { stream: 7, number: u32::MAX, sent_ns: 0x0123_4567_89ab_cdef };
        let mut text = b"what was there before".to_vec();
        stamp.write(&mut text, 200);
        assert_eq!(text.len(), 200);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(serde_json::to_string(&text).unwrap(), format!("\"{text}\""), "nothing is escaped");
        for frame in [format!("{{\"text\":\"{text}\"}}"), format!("<body>~g {text}</body>"), text.clone()] {
            assert_eq!(Stamp::find(frame.as_bytes()), Some(stamp));
        }
        let page = format!("[{text},~gw~,{text}]");
        assert_eq!(Stamp::all(page.as_bytes()).collect::<Vec<_>>(), [stamp, stamp]);
    }

    #[test]
    fn similar_texts_are_not_taken_for_stamps() {
        for frame in [
            "",
            "hello",
            "~gw~",
            "~gw~0123456789abcdef0123456789abcde",
            "~gw~0123456789abcdef0123456789abcdeX",
        ] {
            assert_eq!(Stamp::find(frame.as_bytes()), None, "{frame}");
        }
    }

    #[test]
    fn a_text_is_never_shorter_than_its_stamp() {
        let mut text = Vec::new();
        Stamp { stream: 0, number: 1, sent_ns: 2 }.write(&mut text, 3);
        assert_eq!(text.len(), STAMP_BYTES);
    }
}
