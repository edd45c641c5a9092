//! Hand-written HTTP, for requests that no well-behaved client sends.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use crate::people::patience;

pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) body: String,
}

pub(crate) fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server accepts connections");
    stream.set_read_timeout(Some(patience())).unwrap();
    stream
}

/// Connects from another address of this machine, such as `127.0.5.1`.
pub(crate) async fn connect_from(from: [u8; 4], address: SocketAddr) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let stream = socket.connect(address).await.expect("the server accepts connections");
    let stream = stream.into_std().unwrap();
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(patience())).unwrap();
    stream
}

pub(crate) fn get(address: SocketAddr, path: &str) -> io::Result<Answer> {
    let mut stream = connect(address);
    write!(stream, "GET {path} HTTP/1.1\r\nhost: godwit\r\nconnection: close\r\n\r\n")?;
    read_answer(&mut stream)
}

pub(crate) fn post(address: SocketAddr, path: &str, body: &str) -> io::Result<Answer> {
    let mut stream = connect(address);
    stream.write_all(post_head(path, body.len()).as_bytes())?;
    stream.write_all(body.as_bytes())?;
    read_answer(&mut stream)
}

pub(crate) fn post_head(path: &str, bytes: usize) -> String {
    format!(
        "POST {path} HTTP/1.1\r\nhost: godwit\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {bytes}\r\n\r\n"
    )
}

/// Reads to the end of the connection.
pub(crate) fn read_answer(stream: &mut TcpStream) -> io::Result<Answer> {
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let status = text.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::new(io::ErrorKind::UnexpectedEof, "no answer"))?;
    let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
    Ok(Answer { status, body })
}

/// The next bytes, from a single read.
pub(crate) fn read_some(stream: &mut TcpStream) -> String {
    let mut bytes = [0; 16 * 1024];
    let count = stream.read(&mut bytes).unwrap_or(0);
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

/// Waits until the other side has closed the connection.
pub(crate) fn is_closed(stream: &mut TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(0) => true,
        Ok(_) => false,
        Err(error) => error.kind() == io::ErrorKind::ConnectionReset,
    }
}
