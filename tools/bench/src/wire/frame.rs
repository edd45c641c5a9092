//! WebSocket frames as a client writes and reads them (RFC 6455).
//!
//! The mask key of every written frame is zero. The RFC requires a random one to protect proxies; here there is none, and a
//! zero mask costs nothing.

use anyhow::{Context, bail, ensure};

/// The size limit of a message from the server, in bytes. Pages of a log or of history are far below it.
pub(crate) const MESSAGE_BYTES_MAX: usize = 16 * 1024 * 1024;

/// Two bytes, two for an extended length, four for a mask key.
const HEAD_BYTES: usize = 8;
/// The same for payloads without an extended length.
const SHORT_HEAD_BYTES: usize = 6;
const SHORT_PAYLOAD_MAX: usize = 125;
const CLIENT_PAYLOAD_MAX: usize = u16::MAX as usize;

const FINAL: u8 = 0x80;
const MASKED: u8 = 0x80;
const LENGTH_IN_TWO: u8 = 126;
const LENGTH_IN_EIGHT: u8 = 127;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Opcode {
    Text,
    Binary,
    Close,
    Ping,
    Pong,
}

/// A frame from the server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Frame<'a> {
    pub(crate) opcode: Opcode,
    pub(crate) payload: &'a [u8],
    /// The number of bytes in the buffer.
    pub(crate) bytes: usize,
}

impl Opcode {
    const fn bits(self) -> u8 {
        match self {
            Self::Text => 1,
            Self::Binary => 2,
            Self::Close => 8,
            Self::Ping => 9,
            Self::Pong => 10,
        }
    }

    fn from_bits(bits: u8) -> anyhow::Result<Self> {
        [Self::Text, Self::Binary, Self::Close, Self::Ping, Self::Pong]
            .into_iter()
            .find(|opcode| opcode.bits() == bits)
            .with_context(|| format!("a frame of kind {bits}, which is not known here"))
    }
}

/// Adds a frame whose payload `write` appends after a reserved head, so that nothing is copied.
pub(crate) fn append(out: &mut Vec<u8>, opcode: Opcode, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; HEAD_BYTES]);
    write(out);
    let length = out.len() - start - HEAD_BYTES;
    assert!(length <= CLIENT_PAYLOAD_MAX, "a frame of {length} bytes is more than any server here takes");
    out[start] = FINAL | opcode.bits();
    if length > SHORT_PAYLOAD_MAX {
        out[start + 1] = MASKED | LENGTH_IN_TWO;
        out[start + 2..start + 4].copy_from_slice(&(length as u16).to_be_bytes());
    } else {
        out[start + 1] = MASKED | length as u8;
        out.copy_within(start + HEAD_BYTES.., start + SHORT_HEAD_BYTES);
        out.truncate(out.len() - (HEAD_BYTES - SHORT_HEAD_BYTES));
    }
}

/// The first frame of a buffer, in place. `None` if it is incomplete.
pub(crate) fn parse(buffer: &[u8]) -> anyhow::Result<Option<Frame<'_>>> {
    let [first, second, rest @ ..] = buffer else { return Ok(None) };
    ensure!(
        first & FINAL != 0 && first & 0x0f != 0,
        "the message came in several frames, which is not known here"
    );
    ensure!(first & 0x70 == 0, "a frame uses an extension that was not negotiated");
    ensure!(second & MASKED == 0, "a frame of the server is masked");
    let (length, head) = match (*second, rest) {
        (LENGTH_IN_TWO, [a, b, ..]) => (usize::from(u16::from_be_bytes([*a, *b])), 4),
        (LENGTH_IN_EIGHT, [a, b, c, d, e, f, g, h, ..]) => {
            let length = u64::from_be_bytes([*a, *b, *c, *d, *e, *f, *g, *h]);
            (usize::try_from(length).unwrap_or(usize::MAX), 10)
        }
        (LENGTH_IN_TWO | LENGTH_IN_EIGHT, _) => return Ok(None),
        (short, _) => (usize::from(short), 2),
    };
    if length > MESSAGE_BYTES_MAX {
        bail!("a frame of {length} bytes");
    }
    let Some(payload) = buffer.get(head..head + length) else { return Ok(None) };
    Ok(Some(Frame { opcode: Opcode::from_bits(first & 0x0f)?, payload, bytes: head + length }))
}

/// The code and reason of a close frame.
pub(crate) fn close_reason(payload: &[u8]) -> String {
    match payload {
        [a, b, reason @ ..] => {
            format!("{} {}", u16::from_be_bytes([*a, *b]), String::from_utf8_lossy(reason))
        }
        _ => "no reason".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Unmasks a frame, as a server does: here the mask is zero.
    fn as_from_server(frame: &[u8]) -> Vec<u8> {
        let mut unmasked = frame.to_vec();
        unmasked[1] &= !MASKED;
        let mask = if unmasked[1] == LENGTH_IN_TWO { 4..8 } else { 2..6 };
        assert_eq!(frame[mask.clone()], [0; 4]);
        unmasked.drain(mask);
        unmasked
    }

    #[test]
    fn frames_of_every_length_are_written_and_read_back() {
        for length in [0, 1, 125, 126, 127, 200, 65_535] {
            let payload = vec![b'x'; length];
            let mut out = b"before".to_vec();
            append(&mut out, Opcode::Text, |out| out.extend_from_slice(&payload));
            let bytes = as_from_server(&out[6..]);
            let frame = parse(&bytes).unwrap().unwrap();
            assert_eq!(frame, Frame { opcode: Opcode::Text, payload: &payload, bytes: bytes.len() });
        }
    }

    #[test]
    fn an_incomplete_frame_is_not_parsed() {
        for length in [5_usize, 300, 70_000] {
            let mut bytes = vec![FINAL | 2];
            match length {
                5 => bytes.push(5),
                300 => bytes.extend([&[LENGTH_IN_TWO][..], &300_u16.to_be_bytes()].concat()),
                _ => bytes.extend([&[LENGTH_IN_EIGHT][..], &70_000_u64.to_be_bytes()].concat()),
            }
            bytes.extend(std::iter::repeat_n(7, length));
            for end in [0, 1, 2, 3, 9, bytes.len() - 1] {
                let part = &bytes[..end.min(bytes.len() - 1)];
                assert_eq!(parse(part).unwrap(), None, "{end} of {}", bytes.len());
            }
            let two = [&bytes[..], b"\x81\x00"].concat();
            assert_eq!(parse(&two).unwrap().unwrap().bytes, bytes.len());
        }
    }

    #[test]
    fn invalid_frames_are_refused() {
        let too_long = [&[FINAL | 1, LENGTH_IN_EIGHT][..], &u64::MAX.to_be_bytes()].concat();
        for wrong in [&[1, 0][..], &[FINAL, 0], &[FINAL | 3, 0], &[FINAL | 1, MASKED], &[0xc1, 0], &too_long]
        {
            assert!(parse(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn a_close_frame_has_a_reason() {
        assert_eq!(close_reason(b"\x0f\xa4too slow"), "4004 too slow");
        assert_eq!(close_reason(b""), "no reason");
    }
}
