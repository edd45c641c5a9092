//! The loop with scripted servers.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use super::frame::{self, Opcode};
use super::{Net, Receiver};

const UPGRADED: &[u8] = b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\n\r\n";
/// The time limit of a failing test.
const PATIENCE_NS: u64 = 20_000_000_000;
/// Long enough that earlier writes are read separately.
const MOMENT: Duration = Duration::from_millis(20);

/// The received events, in order.
#[derive(Debug, Default)]
struct Heard {
    opened: usize,
    frames: Vec<Vec<u8>>,
    answers: Vec<(u16, Vec<u8>)>,
}

impl Receiver for Heard {
    fn opened(&mut self, net: &mut Net, connection: u32) -> anyhow::Result<()> {
        self.opened += 1;
        frame::append(net.out(connection), Opcode::Text, |out| out.extend_from_slice(b"hi"));
        Ok(())
    }

    fn frame(&mut self, _: &mut Net, _: u32, payload: &[u8]) -> anyhow::Result<()> {
        self.frames.push(payload.to_vec());
        Ok(())
    }

    fn answer(&mut self, _: &mut Net, _: u32, status: u16, body: &[u8]) -> anyhow::Result<()> {
        self.answers.push((status, body.to_vec()));
        Ok(())
    }
}

/// Accepts one connection, and passes it to `serve` after its first request.
fn server(serve: impl FnOnce(TcpStream) + Send + 'static) -> (SocketAddr, JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            request.push(byte[0]);
        }
        serve(stream);
    });
    (address, thread)
}

fn poll_until(net: &mut Net, heard: &mut Heard, is_enough: impl Fn(&Heard) -> bool) -> anyhow::Result<()> {
    let end_ns = net.now_ns() + PATIENCE_NS;
    while !is_enough(heard) {
        assert!(net.now_ns() < end_ns, "it does not come; {heard:?}");
        net.poll(end_ns, heard)?;
    }
    Ok(())
}

fn text(payload: &[u8]) -> Vec<u8> {
    let mut head = vec![0x81];
    match payload.len() {
        length @ ..=125 => head.push(length as u8),
        length => head.extend([&[126][..], &(length as u16).to_be_bytes()].concat()),
    }
    [head, payload.to_vec()].concat()
}

#[test]
fn split_frames_are_reassembled() {
    let long = vec![b'x'; 60_000];
    let all = [UPGRADED, &text(b"one"), &text(&long), b"\x89\x01p", &text(b"three")].concat();
    let sent = all.clone();
    let (address, server) = server(move |mut stream| {
        // Frames are split across writes: the end of one comes with the beginning of the next, and the long one comes in
        // many parts.
        for part in [&sent[..60], &sent[60..70], &sent[70..90], &sent[90..5_000], &sent[5_000..]] {
            stream.write_all(part).unwrap();
            thread::sleep(MOMENT);
        }
        let mut came = [0; 8 + 7];
        stream.read_exact(&mut came).unwrap();
        assert_eq!(&came, b"\x81\x82\0\0\0\0hi\x8a\x81\0\0\0\0p");
    });
    let (mut net, mut heard) = (Net::new(3).unwrap(), Heard::default());
    net.open_socket(2, address, "/v1/ws", "x: y\r\n").unwrap();
    poll_until(&mut net, &mut heard, |heard| heard.frames.len() == 3).unwrap();
    assert_eq!((heard.opened, net.pings), (1, 1));
    assert_eq!(heard.frames, [b"one".to_vec(), long, b"three".to_vec()]);
    net.poll(0, &mut heard).unwrap();
    server.join().unwrap();
}

#[test]
fn a_closed_socket_reports_the_reason() {
    let (address, server) = server(|mut stream| {
        stream.write_all(&[UPGRADED, b"\x88\x0a\x0f\xa4too slow"].concat()).unwrap();
        // Until the client disconnects.
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let (mut net, mut heard) = (Net::new(1).unwrap(), Heard::default());
    net.open_socket(0, address, "/", "").unwrap();
    let error = poll_until(&mut net, &mut heard, |_| false).unwrap_err();
    assert_eq!(error.to_string(), "the server has closed a socket: 4004 too slow");
    drop(net);
    server.join().unwrap();
}

#[test]
fn a_refused_upgrade_quotes_the_server() {
    let (address, server) = server(|mut stream| {
        stream.write_all(b"HTTP/1.1 401 Unauthorized\r\ncontent-length: 2\r\n\r\nno").unwrap();
    });
    let (mut net, mut heard) = (Net::new(1).unwrap(), Heard::default());
    net.open_socket(0, address, "/", "").unwrap();
    let error = poll_until(&mut net, &mut heard, |_| false).unwrap_err();
    assert_eq!(error.to_string(), "the server does not open a socket: 401 no");
    server.join().unwrap();
}

#[test]
fn requests_are_answered_one_after_the_other() {
    let (address, server) = server(|mut stream| {
        let answer =
            b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabcHTTP/1.1 404 X\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(answer).unwrap();
    });
    let (mut net, mut heard) = (Net::new(1).unwrap(), Heard::default());
    net.open_http(0, address).unwrap();
    super::http::get(net.out(0), address, "/", "");
    poll_until(&mut net, &mut heard, |heard| heard.answers.len() == 2).unwrap();
    assert_eq!(heard.answers, [(200, b"abc".to_vec()), (404, Vec::new())]);
    server.join().unwrap();
}

#[test]
fn large_writes_wait_for_room() {
    const BYTES: usize = 8 * 1024 * 1024;
    let (address, server) = server(|mut stream| {
        thread::sleep(MOMENT);
        let mut came = vec![0; BYTES];
        stream.read_exact(&mut came).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let (mut net, mut heard) = (Net::new(1).unwrap(), Heard::default());
    net.open_http(0, address).unwrap();
    super::http::get(net.out(0), address, "/", "");
    net.out(0).extend(std::iter::repeat_n(b'x', BYTES));
    poll_until(&mut net, &mut heard, |heard| !heard.answers.is_empty()).unwrap();
    server.join().unwrap();
}

#[test]
fn poll_returns_at_the_requested_time() {
    let mut net = Net::new(0).unwrap();
    let mut heard = Heard::default();
    for us in [0, 300, 2_500] {
        let until_ns = net.now_ns() + us * 1_000;
        net.poll(until_ns, &mut heard).unwrap();
        assert!(net.now_ns() >= until_ns);
    }
}
