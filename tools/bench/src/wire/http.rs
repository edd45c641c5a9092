//! The necessary part of HTTP/1.1: requests, and answers with a length or in chunks.

use std::borrow::Cow;
use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, ensure};
use memchr::memmem;

/// The size limit of the head of an answer, in bytes.
const HEAD_BYTES_MAX: usize = 16 * 1024;
const BODY_BYTES_MAX: usize = super::frame::MESSAGE_BYTES_MAX;

/// Any sixteen bytes work; the server only proves that it has read them, which the status shows too.
const WEBSOCKET_KEY: &str = "Z29kd2l0LWJlbmNoLWtleQ==";

pub(crate) const SWITCHING_PROTOCOLS: u16 = 101;

/// An answer of a server.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer<'a> {
    pub(crate) status: u16,
    pub(crate) body: Cow<'a, [u8]>,
    /// The number of bytes in the buffer.
    pub(crate) bytes: usize,
}

/// Adds a request without a body. `headers` are complete lines, each with its end.
pub(crate) fn get(out: &mut Vec<u8>, host: SocketAddr, path: &str, headers: &str) {
    // Writing to memory cannot fail.
    let _ = write!(out, "GET {path} HTTP/1.1\r\nhost: {host}\r\n{headers}\r\n");
}

/// Adds a request with a JSON body.
pub(crate) fn post(out: &mut Vec<u8>, host: SocketAddr, path: &str, body: &[u8]) {
    let length = body.len();
    let _ = write!(
        out,
        "POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    );
    out.extend_from_slice(body);
}

/// Adds the request that upgrades a connection to a WebSocket.
pub(crate) fn upgrade(out: &mut Vec<u8>, host: SocketAddr, path: &str, headers: &str) {
    let _ = write!(
        out,
        "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: {WEBSOCKET_KEY}\r\n{headers}\r\n"
    );
}

/// The first answer of a buffer, in place. `None` if it is incomplete.
pub(crate) fn parse(buffer: &[u8]) -> anyhow::Result<Option<Answer<'_>>> {
    let Some(end) = memmem::find(&buffer[..buffer.len().min(HEAD_BYTES_MAX)], b"\r\n\r\n") else {
        ensure!(buffer.len() < HEAD_BYTES_MAX, "the head of a response is too long");
        return Ok(None);
    };
    let (head, body_start) = (&buffer[..end], end + 4);
    let status = status(head).context("a response is not HTTP/1.1")?;
    let rest = &buffer[body_start..];
    let found = match (status, field(head, b"transfer-encoding")) {
        (SWITCHING_PROTOCOLS, _) => Some((Cow::Borrowed(&rest[..0]), 0)),
        (_, Some(b"chunked")) => chunks(rest)?,
        _ => {
            let length = body_length(head)?;
            rest.get(..length).map(|body| (Cow::Borrowed(body), length))
        }
    };
    Ok(found.map(|(body, bytes)| Answer { status, body, bytes: body_start + bytes }))
}

/// A chunked body, and its number of bytes in the buffer. Usually there is one chunk.
fn chunks(buffer: &[u8]) -> anyhow::Result<Option<(Cow<'_, [u8]>, usize)>> {
    let (mut body, mut used) = (Cow::Borrowed(&buffer[..0]), 0);
    loop {
        let Some(line) = memmem::find(&buffer[used..], b"\r\n") else { return Ok(None) };
        let length = str::from_utf8(&buffer[used..used + line])?;
        let length = usize::from_str_radix(length, 16).context("the length of a chunk is not a number")?;
        ensure!(length <= BODY_BYTES_MAX && body.len() <= BODY_BYTES_MAX, "an answer of {length} bytes");
        let start = used + line + 2;
        let Some(chunk) = buffer.get(start..start + length + 2) else { return Ok(None) };
        used = start + chunk.len();
        match length {
            0 => return Ok(Some((body, used))),
            _ if body.is_empty() => body = Cow::Borrowed(&chunk[..length]),
            _ => body.to_mut().extend_from_slice(&chunk[..length]),
        }
    }
}

fn status(head: &[u8]) -> Option<u16> {
    let digits = head.strip_prefix(b"HTTP/1.1 ")?.get(..3)?;
    str::from_utf8(digits).ok()?.parse().ok()
}

fn body_length(head: &[u8]) -> anyhow::Result<usize> {
    let length = field(head, b"content-length").context("a response has no length")?;
    let length: usize = str::from_utf8(length)?.parse().context("the length of an answer is not a number")?;
    ensure!(length <= BODY_BYTES_MAX, "an answer of {length} bytes");
    Ok(length)
}

/// A header by name.
fn field<'a>(head: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let mut lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        line[..colon].eq_ignore_ascii_case(name).then(|| line[colon + 1..].trim_ascii())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn responses_are_parsed_one_by_one_and_incomplete_ones_wait() {
        let one = b"HTTP/1.1 200 OK\r\nDate: x\r\nContent-Length: 5\r\n\r\nhello";
        let two = [&one[..], b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n"].concat();
        for end in 0..one.len() {
            assert_eq!(parse(&two[..end]).unwrap(), None, "{end}");
        }
        let first = parse(&two).unwrap().unwrap();
        assert_eq!(first, Answer { status: 200, body: b"hello"[..].into(), bytes: one.len() });
        let second = parse(&two[first.bytes..]).unwrap().unwrap();
        assert_eq!((second.status, &*second.body), (404, &b""[..]));
    }

    #[test]
    fn chunks_are_joined() {
        let head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        for (chunks, body) in
            [("a\r\n0123456789\r\n0\r\n\r\n", "0123456789"), ("2\r\nab\r\n1\r\nc\r\n0\r\n\r\n", "abc")]
        {
            let whole = format!("{head}{chunks}");
            for end in 0..whole.len() {
                assert_eq!(parse(&whole.as_bytes()[..end]).unwrap(), None, "{end}");
            }
            let answer = parse(whole.as_bytes()).unwrap().unwrap();
            assert_eq!((&*answer.body, answer.bytes), (body.as_bytes(), whole.len()));
        }
    }

    #[test]
    fn an_upgrade_has_no_body_and_frames_follow() {
        let upgraded = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n\x81\x00";
        assert_eq!(parse(upgraded).unwrap().unwrap().bytes, upgraded.len() - 2);
    }

    #[test]
    fn invalid_responses_are_refused() {
        let endless = vec![b'x'; HEAD_BYTES_MAX];
        for wrong in [
            &b"SSH-2.0-x\r\n\r\n"[..],
            b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nx\r\n",
            b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n",
            &endless,
        ] {
            assert!(parse(wrong).is_err(), "{}", String::from_utf8_lossy(wrong));
        }
    }
}
