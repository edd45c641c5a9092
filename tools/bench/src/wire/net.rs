//! All connections of a run, and the loop that serves them.

use std::net::SocketAddr;
use std::time::Instant;

use anyhow::{Context, bail, ensure};
use rustix::event::epoll;

use super::connection::{Connection, Speaks, Written};
use super::frame::{self, MESSAGE_BYTES_MAX, Opcode};
use super::http;
use super::poller::{Poller, Ready};

/// The minimum size of a read, if there is enough data.
const READ_BYTES: usize = 256 * 1024;

/// All connections. Each has a number, which the caller chooses.
pub(crate) struct Net {
    poller: Poller,
    connections: Vec<Connection>,
    /// Connections with data to write.
    listed: Vec<u32>,
    /// The shared read buffer.
    buffer: Vec<u8>,
    events: Vec<epoll::Event>,
    began: Instant,
    /// The arrival time of the data that is being processed.
    arrived_ns: u64,
    /// Answered pings of the server.
    pub(crate) pings: u64,
}

/// Processes incoming data.
pub(crate) trait Receiver {
    /// The connection is a WebSocket now.
    fn opened(&mut self, _: &mut Net, _connection: u32) -> anyhow::Result<()> {
        bail!("an unexpected socket")
    }

    fn frame(&mut self, _: &mut Net, _connection: u32, _payload: &[u8]) -> anyhow::Result<()> {
        bail!("an unexpected frame")
    }

    fn answer(&mut self, _: &mut Net, _connection: u32, _status: u16, _body: &[u8]) -> anyhow::Result<()> {
        bail!("an unexpected response")
    }
}

impl Net {
    /// With room for connections with numbers below `connections`.
    pub(crate) fn new(connections: usize) -> anyhow::Result<Self> {
        super::files::allow_connections(connections)?;
        Ok(Self {
            poller: Poller::new().context("epoll is not available")?,
            connections: (0..connections).map(|_| Connection::closed()).collect(),
            listed: Vec::new(),
            buffer: vec![0; READ_BYTES],
            events: Vec::new(),
            began: Instant::now(),
            arrived_ns: 0,
            pings: 0,
        })
    }

    /// Nanoseconds since the creation of this value. All times of a run use this clock.
    pub(crate) fn now_ns(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    /// The arrival time of the received data. The clock is read once per read.
    pub(crate) const fn arrived_ns(&self) -> u64 {
        self.arrived_ns
    }

    /// Connects and upgrades to a WebSocket. `headers` are complete lines.
    pub(crate) fn open_socket(
        &mut self,
        connection: u32,
        to: SocketAddr,
        path: &str,
        headers: &str,
    ) -> anyhow::Result<()> {
        self.open(connection, to, Speaks::Upgrade)?;
        http::upgrade(self.out(connection), to, path, headers);
        Ok(())
    }

    /// Connects for HTTP requests.
    pub(crate) fn open_http(&mut self, connection: u32, to: SocketAddr) -> anyhow::Result<()> {
        self.open(connection, to, Speaks::Http)
    }

    /// Cuts a connection, as a network failure does.
    pub(crate) fn close(&mut self, connection: u32) {
        self.connections[connection as usize] = Connection::closed();
    }

    /// The write buffer. It is sent with the next [`Net::poll`].
    pub(crate) fn out(&mut self, connection: u32) -> &mut Vec<u8> {
        let place = &mut self.connections[connection as usize];
        if !place.is_listed && !place.waits_for_room {
            place.is_listed = true;
            self.listed.push(connection);
        }
        place.out()
    }

    /// Writes waiting data, and delivers incoming data. Returns after `until_ns` at the latest.
    pub(crate) fn poll(&mut self, until_ns: u64, receiver: &mut impl Receiver) -> anyhow::Result<()> {
        self.write_listed()?;
        let mut events = std::mem::take(&mut self.events);
        self.poller.wait(self.now_ns(), until_ns, &mut events).context("epoll failed")?;
        for ready in events.drain(..).filter_map(Ready::of) {
            if ready.to_write {
                self.go_on_writing(ready.connection)?;
            }
            if ready.to_read {
                self.read(ready.connection, receiver)?;
            }
        }
        self.events = events;
        self.write_listed()
    }

    fn open(&mut self, connection: u32, to: SocketAddr, speaks: Speaks) -> anyhow::Result<()> {
        let place = &mut self.connections[connection as usize];
        ensure!(place.speaks == Speaks::Nothing, "connection {connection} is open already");
        place.open(to, speaks).with_context(|| format!("cannot connect to {to}"))?;
        let socket = place.socket().context("it was opened just now")?;
        Ok(self.poller.add(socket, connection, true)?)
    }

    fn write_listed(&mut self) -> anyhow::Result<()> {
        let mut listed = std::mem::take(&mut self.listed);
        for connection in listed.drain(..) {
            self.connections[connection as usize].is_listed = false;
            self.write(connection)?;
        }
        self.listed = listed;
        Ok(())
    }

    fn write(&mut self, connection: u32) -> anyhow::Result<()> {
        let place = &mut self.connections[connection as usize];
        let written = place.write().context("cannot write to the server")?;
        let waits = written == Written::Part;
        if waits != place.waits_for_room
            && let Some(socket) = place.socket()
        {
            self.poller.change(socket, connection, waits)?;
            place.waits_for_room = waits;
        }
        Ok(())
    }

    fn go_on_writing(&mut self, connection: u32) -> anyhow::Result<()> {
        self.connections[connection as usize].failure().context("cannot connect to the server")?;
        self.write(connection)
    }

    fn read(&mut self, connection: u32, receiver: &mut impl Receiver) -> anyhow::Result<()> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let outcome = self.read_into(&mut buffer, connection, receiver);
        self.buffer = buffer;
        outcome
    }

    fn read_into(
        &mut self,
        buffer: &mut Vec<u8>,
        connection: u32,
        receiver: &mut impl Receiver,
    ) -> anyhow::Result<()> {
        let place = &mut self.connections[connection as usize];
        let half = place.half.len();
        ensure!(half <= MESSAGE_BYTES_MAX, "the server sends a message that is too long");
        if buffer.len() < half + READ_BYTES {
            buffer.resize(half + READ_BYTES, 0);
        }
        let Some(bytes) = place.read(&mut buffer[half..]).context("the connection is broken")? else {
            return Ok(());
        };
        ensure!(bytes > 0, "the server has closed the connection");
        buffer[..half].copy_from_slice(&place.half);
        place.half.clear();
        self.arrived_ns = self.now_ns();
        let came = &buffer[..half + bytes];
        let used = self.hand_out(came, connection, receiver)?;
        self.connections[connection as usize].half.extend_from_slice(&came[used..]);
        Ok(())
    }

    /// Delivers all complete data, and returns its size.
    fn hand_out(
        &mut self,
        came: &[u8],
        connection: u32,
        receiver: &mut impl Receiver,
    ) -> anyhow::Result<usize> {
        let mut used = 0;
        while used < came.len() {
            let rest = &came[used..];
            let bytes = match self.connections[connection as usize].speaks {
                // The receiver has closed it.
                Speaks::Nothing => return Ok(came.len()),
                Speaks::WebSocket => self.hand_out_frame(rest, connection, receiver)?,
                Speaks::Upgrade | Speaks::Http => self.hand_out_answer(rest, connection, receiver)?,
            };
            if bytes == 0 {
                break;
            }
            used += bytes;
        }
        Ok(used)
    }

    /// The number of bytes of the frame; `None` if it is incomplete.
    fn hand_out_frame(
        &mut self,
        came: &[u8],
        connection: u32,
        receiver: &mut impl Receiver,
    ) -> anyhow::Result<usize> {
        let Some(frame) = frame::parse(came)? else { return Ok(0) };
        match frame.opcode {
            Opcode::Text | Opcode::Binary => receiver.frame(self, connection, frame.payload)?,
            Opcode::Ping => {
                self.pings += 1;
                frame::append(self.out(connection), Opcode::Pong, |out| out.extend_from_slice(frame.payload));
            }
            Opcode::Pong => {}
            Opcode::Close => bail!("the server has closed a socket: {}", frame::close_reason(frame.payload)),
        }
        Ok(frame.bytes)
    }

    fn hand_out_answer(
        &mut self,
        came: &[u8],
        connection: u32,
        receiver: &mut impl Receiver,
    ) -> anyhow::Result<usize> {
        let Some(answer) = http::parse(came)? else { return Ok(0) };
        let place = &mut self.connections[connection as usize];
        if place.speaks == Speaks::Http {
            receiver.answer(self, connection, answer.status, &answer.body)?;
        } else if answer.status == http::SWITCHING_PROTOCOLS {
            place.speaks = Speaks::WebSocket;
            receiver.opened(self, connection)?;
        } else {
            bail!(
                "the server does not open a socket: {} {}",
                answer.status,
                String::from_utf8_lossy(&answer.body)
            );
        }
        Ok(answer.bytes)
    }
}
