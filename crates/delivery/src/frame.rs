//! WebSocket frames (RFC 6455) of the server. A frame is encoded once, including its header, and all receiving
//! sockets share it.

use std::cell::RefCell;

use bytes::Bytes;
use godwit_protocol::socket::CloseCode;
use serde::Serialize;

const FINAL: u8 = 0x80;
const TEXT: u8 = 0x1;
const CLOSE: u8 = 0x8;
const PING: u8 = 0x9;
const PONG: u8 = 0xa;

/// The largest header: two bytes, and a length of eight bytes.
const HEADER_BYTES_MAX: usize = 10;
/// Longer payloads have their length in two more bytes, or in eight.
const SHORT_BYTES_MAX: usize = 125;
const MIDDLE_BYTES_MAX: usize = 65_535;
/// The capacity that a thread keeps of its encoding buffer. Few frames are longer.
const SCRATCH_BYTES_KEPT: usize = 64 * 1024;

thread_local! {
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A text frame with a value as JSON. `None` if it cannot be encoded.
pub fn text<T: Serialize>(value: &T) -> Option<Bytes> {
    // A reused buffer that is usually large enough. The frame is copied out of it without spare capacity,
    // because it may wait in queues.
    SCRATCH.with_borrow_mut(|scratch| {
        scratch.clear();
        scratch.resize(HEADER_BYTES_MAX, 0);
        // Encoding fails only for maps with keys that are not strings, and frames have none.
        sonic_rs::to_writer(&mut *scratch, value)
            .inspect_err(|error| tracing::error!(%error, "could not encode a frame"))
            .ok()?;
        let frame = Bytes::copy_from_slice(with_header(TEXT, scratch));
        scratch.shrink_to(SCRATCH_BYTES_KEPT);
        Some(frame)
    })
}

pub fn ping() -> Bytes {
    Bytes::from_static(&[FINAL | PING, 0])
}

/// The answer to a ping.
pub fn pong(payload: &[u8]) -> Bytes {
    control(PONG, payload)
}

pub fn close(code: CloseCode) -> Bytes {
    control(CLOSE, &[&code.code().to_be_bytes(), code.reason().as_bytes()].concat())
}

/// The answer to a client's close frame.
pub fn close_too(payload: &[u8]) -> Bytes {
    control(CLOSE, payload)
}

fn control(opcode: u8, payload: &[u8]) -> Bytes {
    Bytes::copy_from_slice(with_header(opcode, &mut [&[0; HEADER_BYTES_MAX], payload].concat()))
}

/// Writes the header before the payload, which begins after room for the largest header. Returns the header and
/// the payload.
fn with_header(opcode: u8, bytes: &mut [u8]) -> &[u8] {
    let length = bytes.len() - HEADER_BYTES_MAX;
    let header = &mut bytes[..HEADER_BYTES_MAX];
    let start = if length <= SHORT_BYTES_MAX {
        header[9] = length as u8;
        8
    } else if length <= MIDDLE_BYTES_MAX {
        header[7] = 126;
        header[8..].copy_from_slice(&(length as u16).to_be_bytes());
        6
    } else {
        header[1] = 127;
        header[2..].copy_from_slice(&(length as u64).to_be_bytes());
        0
    };
    header[start] = FINAL | opcode;
    &bytes[start..]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_has_the_length_of_the_payload() {
        for (length, header) in [
            (2, &[0x81, 2][..]),
            (125, &[0x81, 125]),
            (126, &[0x81, 126, 0, 126]),
            (65_535, &[0x81, 126, 255, 255]),
            (65_536, &[0x81, 127, 0, 0, 0, 0, 0, 1, 0, 0]),
        ] {
            let value = "x".repeat(length - 2);
            let frame = text(&value).unwrap();
            assert_eq!(&frame[..header.len()], header, "{length}");
            assert_eq!(frame[header.len()..], *format!("\"{value}\"").as_bytes());
        }
    }

    /// The encoder handles many bytes per step, so a character to be escaped is tested at every position of a
    /// step.
    #[test]
    fn every_character_is_escaped_as_json_requires() {
        let characters = ('\0'..='\u{ff}').chain(['\u{2028}', '\u{202e}', '\u{ffff}', '👋']);
        for character in characters {
            for place in 0..70 {
                let value = format!("{}{character}{}", "a".repeat(place), "b".repeat(70 - place));
                let frame = text(&value).unwrap();
                let start = frame.iter().position(|byte| *byte == b'"').unwrap();
                assert_eq!(frame[start..], *serde_json::to_vec(&value).unwrap(), "{character:?} at {place}");
            }
        }
    }

    #[test]
    fn control_frames_are_short() {
        assert_eq!(ping(), [0x89, 0][..]);
        assert_eq!(pong(b"ab"), [0x8a, 2, b'a', b'b'][..]);
        assert_eq!(close(CloseCode::TooSlow)[0], 0x88);
        assert_eq!(close_too(&[]), [0x88, 0][..]);
        for code in CloseCode::ALL {
            assert!(close(*code).len() <= 2 + SHORT_BYTES_MAX);
        }
    }
}
