//! One connection.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::net::sockopt::{set_socket_linger, set_socket_reuseaddr, set_tcp_nodelay, socket_error};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, connect, recv, send, socket_with,
};

/// A source address has about 28,000 ports that the kernel picks from; beyond these many connections the next is used.
const CONNECTIONS_PER_ADDRESS: u32 = 25_000;

/// What is spoken on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaks {
    Nothing,
    /// HTTP until the answer to an upgrade comes.
    Upgrade,
    WebSocket,
    Http,
}

/// A place for a connection, which can be used again after it was closed.
#[derive(Debug)]
pub(super) struct Connection {
    socket: Option<OwnedFd>,
    pub(super) speaks: Speaks,
    /// What came of a frame that is not complete. Mostly empty.
    pub(super) half: Vec<u8>,
    out: Vec<u8>,
    /// How much of `out` the kernel has taken.
    written: usize,
    /// Whether the kernel had no room, and says when it has.
    pub(super) waits_for_room: bool,
    /// Whether it is on the list of those to be written.
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

    /// Begins to connect. What is put into `out` meanwhile goes out when that is done.
    pub(super) fn open(&mut self, to: SocketAddr, number: u32, speaks: Speaks) -> io::Result<()> {
        let socket = socket_with(
            if to.is_ipv4() { AddressFamily::INET } else { AddressFamily::INET6 },
            SocketType::STREAM,
            SocketFlags::NONBLOCK | SocketFlags::CLOEXEC,
            None,
        )?;
        set_tcp_nodelay(&socket, true)?;
        // Ends with a reset: otherwise thousands of ports stay in use for a minute after a run.
        set_socket_linger(&socket, Some(Duration::ZERO))?;
        if let Some(from) = source(to, number) {
            set_socket_reuseaddr(&socket, true)?;
            bind(&socket, &from)?;
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

    /// How many bytes came; none when the server has closed it or nothing is there.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        let Some(socket) = &self.socket else { return Ok(None) };
        match recv(socket, buffer, RecvFlags::empty()) {
            Ok((bytes, _)) => Ok(Some(bytes)),
            Err(Errno::AGAIN | Errno::INTR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Writes all that waits, or as much as there is room for.
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

/// The address to connect from, where one is not enough. All of 127.0.0.0/8 is this machine.
fn source(to: SocketAddr, number: u32) -> Option<SocketAddr> {
    let place = number / CONNECTIONS_PER_ADDRESS;
    if !to.ip().is_loopback() || !to.is_ipv4() || place == 0 {
        return None;
    }
    let [a, b, c, d] = (u32::from(Ipv4Addr::LOCALHOST) + place).to_be_bytes();
    Some(SocketAddr::from(([a, b, c, d], 0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_come_from_as_many_addresses_as_they_need() {
        let server = "127.0.0.1:80".parse().unwrap();
        let from = |number| source(server, number).map(|address| address.ip().to_string());
        assert_eq!([0, 24_999].map(from), [None, None]);
        assert_eq!([25_000, 49_999].map(from), [Some("127.0.0.2".into()), Some("127.0.0.2".into())]);
        assert_eq!(source("192.0.2.1:80".parse().unwrap(), 30_000), None);
    }
}
