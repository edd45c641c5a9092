//! Parses the frames of clients into messages (RFC 6455).

use bytes::{Bytes, BytesMut};
use godwit_protocol::limits::FRAME_BYTES_MAX;

use crate::auth::tokens::TOKEN_BYTES_MAX;

const FINAL: u8 = 0x80;
const RESERVED: u8 = 0x70;
const OPCODE: u8 = 0x0f;
const MASKED: u8 = 0x80;
const LENGTH: u8 = 0x7f;
const CONTROL: u8 = 0x08;

/// The size limit of a message before sign-in: the largest token with its envelope. It is small because the sender is
/// anonymous.
const ANONYMOUS_FRAME_BYTES_MAX: usize = TOKEN_BYTES_MAX + 2 * 1024;
/// Fragments per message. More would cost work without any bytes to count.
const PIECES_MAX: u32 = 256;
const MASK_BYTES: usize = 4;
const CONTROL_BYTES_MAX: u64 = 125;

/// A message of a client.
#[derive(Debug, PartialEq, Eq)]
pub(in crate::socket) enum Message {
    /// Valid UTF-8.
    Text(Bytes),
    Binary,
    Ping(Bytes),
    Pong,
    Close(Bytes),
}

/// Why the input cannot be parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::socket) enum Violation {
    Protocol,
    TooLarge,
    NotUtf8,
}

/// Received bytes that are not parsed yet. Holds no memory when it is empty.
#[derive(Debug, Default)]
pub(super) struct Incoming {
    bytes: BytesMut,
    /// The first fragments of a message.
    begun: Option<Begun>,
    is_signed_in: bool,
}

#[derive(Debug)]
struct Begun {
    is_text: bool,
    bytes: BytesMut,
    pieces: u32,
}

struct Header {
    is_final: bool,
    opcode: u8,
    mask: [u8; MASK_BYTES],
    header_bytes: usize,
    payload_bytes: usize,
}

impl Incoming {
    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    pub(super) fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }

    /// From now on, the message size limit is that of users.
    pub(super) const fn signed_in(&mut self) {
        self.is_signed_in = true;
    }

    /// The next message, once it is complete.
    pub(super) fn next(&mut self) -> Result<Option<Message>, Violation> {
        while let Some(header) = self.header()? {
            if self.bytes.len() < header.header_bytes + header.payload_bytes {
                return Ok(None);
            }
            let _ = self.bytes.split_to(header.header_bytes);
            let mut payload = self.bytes.split_to(header.payload_bytes);
            if self.bytes.is_empty() {
                self.bytes = BytesMut::new();
            }
            unmask(&mut payload, header.mask);
            if let Some(message) = self.take(&header, payload)? {
                return Ok(Some(message));
            }
        }
        Ok(None)
    }

    /// The header of the next frame, once it is complete and valid.
    fn header(&self) -> Result<Option<Header>, Violation> {
        let [first, second, rest @ ..] = &self.bytes[..] else { return Ok(None) };
        let (is_final, opcode) = (first & FINAL != 0, first & OPCODE);
        let is_control = opcode & CONTROL != 0;
        let is_known = matches!(opcode, 0x0..=0x2 | 0x8..=0xa);
        if first & RESERVED != 0 || !is_known || second & MASKED == 0 {
            return Err(Violation::Protocol);
        }
        let (length, length_bytes) = match second & LENGTH {
            126 => match rest.first_chunk() {
                Some(length) => (u64::from(u16::from_be_bytes(*length)), 2),
                None => return Ok(None),
            },
            127 => match rest.first_chunk() {
                Some(length) => (u64::from_be_bytes(*length), 8),
                None => return Ok(None),
            },
            length => (u64::from(length), 0),
        };
        if is_control && (!is_final || length > CONTROL_BYTES_MAX) {
            return Err(Violation::Protocol);
        }
        let begun = self.begun.as_ref().map_or(0, |begun| begun.bytes.len());
        let payload_bytes = usize::try_from(length).unwrap_or(usize::MAX);
        let bytes_max = if self.is_signed_in { FRAME_BYTES_MAX } else { ANONYMOUS_FRAME_BYTES_MAX };
        if !is_control && payload_bytes > bytes_max.saturating_sub(begun) {
            return Err(Violation::TooLarge);
        }
        let Some(mask) = rest[length_bytes..].first_chunk() else { return Ok(None) };
        let header_bytes = 2 + length_bytes + MASK_BYTES;
        Ok(Some(Header { is_final, opcode, mask: *mask, header_bytes, payload_bytes }))
    }

    /// The message that a frame completes; `None` if more fragments follow.
    fn take(&mut self, header: &Header, payload: BytesMut) -> Result<Option<Message>, Violation> {
        match header.opcode {
            0x8 => return goodbye(payload.freeze()).map(Some),
            0x9 => return Ok(Some(Message::Ping(payload.freeze()))),
            0xa => return Ok(Some(Message::Pong)),
            _ => {}
        }
        let is_continuation = header.opcode == 0x0;
        let message = match self.begun.take() {
            Some(mut begun) if is_continuation => {
                begun.bytes.extend_from_slice(&payload);
                begun.pieces += 1;
                begun
            }
            None if !is_continuation => Begun { is_text: header.opcode == 0x1, bytes: payload, pieces: 1 },
            _ => return Err(Violation::Protocol),
        };
        if message.pieces > PIECES_MAX {
            return Err(Violation::TooLarge);
        }
        if !header.is_final {
            self.begun = Some(message);
            return Ok(None);
        }
        if !message.is_text {
            return Ok(Some(Message::Binary));
        }
        match std::str::from_utf8(&message.bytes) {
            Ok(_) => Ok(Some(Message::Text(message.bytes.freeze()))),
            Err(_) => Err(Violation::NotUtf8),
        }
    }
}

/// A close frame. It is echoed, so it must contain only what may be sent.
fn goodbye(payload: Bytes) -> Result<Message, Violation> {
    match payload.split_first_chunk() {
        None if payload.is_empty() => {}
        Some((code, reason)) if may_be_sent(u16::from_be_bytes(*code)) => {
            std::str::from_utf8(reason).map_err(|_| Violation::NotUtf8)?;
        }
        _ => return Err(Violation::Protocol),
    }
    Ok(Message::Close(payload))
}

/// True if a close frame may have this code (RFC 6455, section 7.4, and the later IANA registrations). 1004 has no meaning;
/// APIs report 1005, 1006 and 1015 in the absence of a close frame.
const fn may_be_sent(code: u16) -> bool {
    matches!(code, 1000..=1003 | 1007..=1014 | 3000..=4999)
}

/// Unmasks eight bytes at a time: the mask twice.
fn unmask(payload: &mut [u8], mask: [u8; MASK_BYTES]) {
    let [a, b, c, d] = mask;
    let twice = u64::from_ne_bytes([a, b, c, d, a, b, c, d]);
    let (chunks, rest) = payload.as_chunks_mut::<8>();
    for chunk in chunks {
        *chunk = (u64::from_ne_bytes(*chunk) ^ twice).to_ne_bytes();
    }
    for (byte, mask) in rest.iter_mut().zip(mask.into_iter().cycle()) {
        *byte ^= mask;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MASK: [u8; 4] = [0x11, 0x22, 0x83, 0x44];

    fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
        let length = match payload.len() {
            length @ 0..126 => vec![MASKED | length as u8],
            length @ 126..65_536 => [&[MASKED | 126][..], &(length as u16).to_be_bytes()].concat(),
            length => [&[MASKED | 127][..], &(length as u64).to_be_bytes()].concat(),
        };
        let mut masked = payload.to_vec();
        unmask(&mut masked, MASK);
        [&[first][..], &length, &MASK, &masked].concat()
    }

    fn of_user() -> Incoming {
        let mut incoming = Incoming::default();
        incoming.signed_in();
        incoming
    }

    fn read(bytes: &[u8]) -> Result<Option<Message>, Violation> {
        let mut incoming = of_user();
        incoming.push(bytes);
        incoming.next()
    }

    #[test]
    fn messages_before_sign_in_are_limited_to_the_size_of_a_token() {
        let mut incoming = Incoming::default();
        incoming.push(&frame(0x81, &[b' '; ANONYMOUS_FRAME_BYTES_MAX]));
        assert!(matches!(incoming.next(), Ok(Some(Message::Text(_)))));
        let larger = frame(0x81, &[b' '; ANONYMOUS_FRAME_BYTES_MAX + 1]);
        // The frame is refused after its header.
        incoming.push(&larger[..8]);
        assert_eq!(incoming.next(), Err(Violation::TooLarge));
        let mut pieces = Incoming::default();
        pieces.push(&frame(0x01, &[b' '; ANONYMOUS_FRAME_BYTES_MAX]));
        assert_eq!(pieces.next(), Ok(None));
        pieces.push(&frame(0x80, b" "));
        assert_eq!(pieces.next(), Err(Violation::TooLarge));
        assert!(matches!(read(&larger), Ok(Some(Message::Text(_)))));
    }

    #[test]
    fn texts_of_every_length_are_read_from_chunks_of_any_size() {
        for length in [0, 1, 7, 8, 9, 125, 126, 127, FRAME_BYTES_MAX] {
            let text = vec![b'x'; length];
            let bytes = frame(0x81, &text);
            assert_eq!(read(&bytes), Ok(Some(Message::Text(text.clone().into()))));
            let mut slowly = of_user();
            for byte in &bytes[..bytes.len() - 1] {
                slowly.push(&[*byte]);
                if length < 200 {
                    assert_eq!(slowly.next(), Ok(None));
                }
            }
            slowly.push(&bytes[bytes.len() - 1..]);
            assert_eq!(slowly.next(), Ok(Some(Message::Text(text.into()))));
            assert_eq!(slowly.bytes.capacity(), 0, "nothing is kept");
        }
    }

    #[test]
    fn fragments_are_joined_and_control_frames_may_interleave() {
        let mut incoming = Incoming::default();
        for bytes in [frame(0x01, b"ab"), frame(0x89, b"?"), frame(0x00, b"c"), frame(0x80, b"d")] {
            incoming.push(&bytes);
        }
        assert_eq!(incoming.next(), Ok(Some(Message::Ping(Bytes::from_static(b"?")))));
        assert_eq!(incoming.next(), Ok(Some(Message::Text(Bytes::from_static(b"abcd")))));
        assert_eq!(incoming.next(), Ok(None));
    }

    #[test]
    fn violations_are_detected_before_the_payload_has_arrived() {
        let unmasked = [0x81, 2, b'h', b'i'];
        let huge = [&[0x81, MASKED | 127][..], &u64::MAX.to_be_bytes()].concat();
        let begun = [frame(0x01, b"a"), frame(0x81, b"b")].concat();
        for (bytes, violation) in [
            (&unmasked[..], Violation::Protocol),
            (&frame(0xc1, b"reserved"), Violation::Protocol),
            (&frame(0x83, b"unknown"), Violation::Protocol),
            (&frame(0x09, b"a ping in pieces"), Violation::Protocol),
            (&frame(0x89, &[0; 126]), Violation::Protocol),
            (&frame(0x80, b"continues nothing"), Violation::Protocol),
            (&begun, Violation::Protocol),
            (&frame(0x88, b"1"), Violation::Protocol),
            (&frame(0x88, &999_u16.to_be_bytes()), Violation::Protocol),
            (&frame(0x88, &1005_u16.to_be_bytes()), Violation::Protocol),
            (&frame(0x88, &[0x03, 0xe8, 0xff]), Violation::NotUtf8),
            (&huge, Violation::TooLarge),
            (&frame(0x81, &[0xff]), Violation::NotUtf8),
        ] {
            assert_eq!(read(bytes), Err(violation), "{bytes:?}");
        }
        let mut pieces = of_user();
        pieces.push(&frame(0x01, &vec![b' '; FRAME_BYTES_MAX]));
        assert_eq!(pieces.next(), Ok(None));
        pieces.push(&frame(0x80, b" "));
        assert_eq!(pieces.next(), Err(Violation::TooLarge));
    }
}
