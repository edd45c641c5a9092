//! One connection.

use std::io;
use std::net::SocketAddr;
use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr, set_tcp_nodelay, socket_error};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send, socket_with,
};

/// The source ports: below those that the kernel assigns, which it does more slowly the more of them are in use.
const PORTS: Range<u32> = 10_000..30_000;
/// The number of connections of this process, which gives each one a unique source address.
static MADE: AtomicU32 = AtomicU32::new(0);

/// The protocol of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Nothing,
    /// HTTP until the answer to an upgrade arrives.
    Upgrade,
    WebSocket,
    Http,
}

/// A slot for a connection, which can be reused after it was closed.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Option<OwnedFd>,
    pub(super) speaks: Speaks,
    /// The bytes of an incomplete frame. Usually empty.
    pub(super) half: Vec<u8>,
    out: Vec<u8>,
    /// How much of `out` the kernel has accepted.
    written: usize,
    /// Whether the kernel's buffer was full, so that it reports when there is room.
    pub(super) waits_for_room: bool,
    /// Whether it is on the list of connections to write.
    pub(super) is_listed: bool,
}

impl Connection {
    pub(super) const fn closed() -> Self {
        Self {
            socket: None,
            speaks: Speaks::Nothing,
            half: Vec::new(),
            out: Vec::new(),
            written: 0,
            waits_for_room: false,
            is_listed: false,
        }
    }

    /// Starts to connect. Data in `out` is sent once the connection is open.
    pub(super) fn open(&mut self, to: SocketAddr, speaks: Speaks) -> io::Result<()> {
        let socket = socket_with(
            if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 },
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )?;
        set_tcp_nodelay(&socket, true)?;
        // Closes with a reset: otherwise thousands of ports would stay in use for a minute after a run.
        set_socket_linger(&socket, Some(Duration::ZERO))?;
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        if let Some(from) = source(to, number, std::process::id()) {
            set_socket_reuseaddr(&socket, true)?;
            // If the port is taken, the kernel chooses another one.
            let _ = bind(&socket, &from);
        }
        match connect(&socket, &to) {
            Ok(()) | Err(Errno::INPROGRESS) => {}
            Err(error) => return Err(error.into()),
        }
        *self = Self { socket: Some(socket), speaks, waits_for_room: true, ..Self::closed() };
        Ok(())
    }

    pub(super) const fn socket(&self) -> Option<&OwnedFd> {
        self.socket.as_ref()
    }

    pub(super) const fn out(&mut self) -> &mut Vec<u8> {
        &mut self.out
    }

    /// The number of bytes read; `None` if the server has closed the connection or there is no data.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match recv(socket, buffer, RecvFlags::empty()) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the waiting data, as far as there is room.
    pub(super) fn write(&mut self) -> io::Result<Written> {
        let Some(socket) = &self.socket else { return Ok(Written::All) };
        while self.written < self.out.len() {
            match send(socket, &self.out[self.written..], SendFlags::NOSIGNAL) {
                Ok(bytes) => self.written += bytes,
                Err(Errno::AGAIN) => return Ok(Written::Part),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        self.out.clear();
        self.written = 0;
        Ok(Written::All)
    }

    /// Why connecting failed, if it did.
    pub(super) fn failure(&self) -> io::Result<()> {
        match &self.socket {
            Some(socket) => Ok(socket_error(socket)??),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Written {
    All,
    Part,
}

/// The source address: many connections need more than one. All of 127.0.0.0/8 is this machine, so each process gets its own
/// addresses.
fn source(to: SocketAddr, number: u32, pid: u32) -> Option<SocketAddr> {
    if !to.ip().is_loopback() || !to.is_ipv4() {
        return None;
    }
    let [_, _, high, low] = pid.to_be_bytes();
    let (address, port) = (number / PORTS.len() as u32, PORTS.start + number % PORTS.len() as u32);
    // The first and the last address are not for hosts.
    let last = u8::try_from(address + 1).ok().filter(|last| *last < u8::MAX)?;
    Some(SocketAddr::from(([127, high, low, last], u16::try_from(port).ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_use_as_many_source_addresses_as_needed() {
        let server = "127.0.0.1:80".parse().unwrap();
        let from = |number| source(server, number, 0x0102).map(|address| address.to_string());
        let expected = ["127.1.2.1:10000", "127.1.2.1:29999", "127.1.2.2:10000", "127.1.2.3:19999"];
        assert_eq!([0, 19_999, 20_000, 49_999].map(from), expected.map(|address| Some(address.to_owned())));
        assert_eq!(from(u32::MAX), None, "the kernel may do it");
        assert_eq!(source("192.0.2.1:80".parse().unwrap(), 0, 7), None);
    }
}
