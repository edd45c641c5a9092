//! Our own relay, without storage and users: [`crate::relay`] describes its protocol.

use std::io::Write as _;
use std::net::SocketAddr;

use anyhow::{Context, bail};

use super::stamp::Stamp;
use super::{Done, History, Incoming, Messenger};
use crate::wire::frame::{self, Opcode};

#[derive(Debug)]
pub(crate) struct Relay {
    address: SocketAddr,
    conversations: u32,
    /// Separates the rooms of this run from those of others on the same relay.
    first_room: u32,
}

impl Relay {
    pub(crate) const fn new(address: SocketAddr, first_room: u32) -> Self {
        Self { address, conversations: 0, first_room }
    }

    const fn room(&self, conversation: u32) -> u32 {
        self.first_room.wrapping_add(conversation)
    }
}

impl Messenger for Relay {
    fn name(&self) -> &'static str {
        "relay"
    }

    fn address(&self) -> SocketAddr {
        self.address
    }

    fn move_to(&mut self, address: SocketAddr) {
        self.address = address;
    }

    fn handshake(&mut self, _: u32) -> anyhow::Result<(String, String)> {
        Ok(("/".to_owned(), String::new()))
    }

    fn sign_in(&mut self, _: u32, _: Option<&[u8]>, _: &mut Vec<u8>) -> anyhow::Result<Done> {
        Ok(Done::Yes)
    }

    fn plan_conversation(&mut self, _: &[u32]) -> u32 {
        self.conversations += 1;
        self.conversations - 1
    }

    fn join(
        &mut self,
        conversation: u32,
        _: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done> {
        if frame.is_some() {
            return Ok(Done::Yes);
        }
        let room = self.room(conversation);
        frame::append(out, Opcode::Text, |out| {
            // Writing to memory cannot fail.
            let _ = write!(out, "j{room:08x}");
        });
        Ok(Done::NotYet)
    }

    fn send(&mut self, conversation: u32, _: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>) {
        let room = self.room(conversation);
        frame::append(out, Opcode::Text, |out| {
            let _ = write!(out, "s{room:08x}{ticket:08x}");
            out.extend_from_slice(text);
        });
    }

    fn read(
        &mut self,
        _: u32,
        frame: &[u8],
        _: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()> {
        if let Some(ticket) = frame.strip_prefix(b"a") {
            let ticket =
                u32::from_str_radix(str::from_utf8(ticket)?, 16).context("a ticket is not a number")?;
            each(Incoming::Acknowledged { ticket });
        } else if let Some(stamp) = Stamp::find(frame) {
            each(Incoming::Delivered { stamp, place: None });
        }
        Ok(())
    }
}

impl History for Relay {
    fn pages_at(&self) -> Option<SocketAddr> {
        None
    }

    fn ask_newest(&mut self, _: u32, _: u32, _: u32, _: &mut Vec<u8>) -> anyhow::Result<()> {
        bail!("the relay stores no messages")
    }

    fn read_page(
        &mut self,
        _: u32,
        _: Option<u16>,
        _: &[u8],
        _: &mut Vec<u8>,
        _: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done> {
        bail!("the relay stores no messages")
    }
}
