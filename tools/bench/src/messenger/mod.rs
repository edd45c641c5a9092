//! Clients of messenger servers. Each kind is one file that implements [`Messenger`].
//!
//! - [`godwit`]: Godwit's WebSocket
//! - [`wukongim`], [`tinode`], [`ejabberd`]: peers that store acknowledged messages durably
//! - [`centrifugo`], [`relay`]: peers that do not
//! - [`stamp`]: the stamp in every text, with which its receivers check it
//!
//! A run refers to users and conversations by numbers; the messenger maps them to the server's names. To add one, write the
//! code that opens and signs in a socket, creates a conversation, encodes a send, and decodes incoming frames. Sending and
//! reading must not allocate: they run for every message, and the generator's cost is taken from the server.

pub(crate) mod centrifugo;
pub(crate) mod ejabberd;
pub(crate) mod godwit;
pub(crate) mod relay;
pub(crate) mod stamp;
pub(crate) mod tinode;
pub(crate) mod wukongim;

use std::net::SocketAddr;

use stamp::Stamp;

/// A messenger server as its clients see it. User `n` is on connection `n`.
pub(crate) trait Messenger {
    /// The name in results.
    fn name(&self) -> &'static str;

    fn address(&self) -> SocketAddr;

    /// Uses a new address, after a restart of the server.
    fn move_to(&mut self, address: SocketAddr);

    /// Registers users with a server that needs to know them before they connect.
    fn prepare(&mut self, _users: u32) -> anyhow::Result<()> {
        Ok(())
    }

    /// The path of the WebSocket, and complete header lines for its upgrade.
    fn handshake(&mut self, user: u32) -> anyhow::Result<(String, String)>;

    /// Signs a user in. Called without a frame when the socket opens, and then with every frame until it returns that it is
    /// done. Appends frames to send to `out`.
    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done>;

    /// Plans a conversation of these users, who are signed in; the first of them creates it. Returns its number, counting
    /// from 0.
    fn plan_conversation(&mut self, members: &[u32]) -> u32;

    /// Lets a member join: the first one creates the conversation and is done before the others begin. Called like
    /// [`Messenger::sign_in`].
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done>;

    /// Appends the frame that sends a text, which is ASCII and needs no escapes. The acknowledgement must return the ticket,
    /// which increases by one with each send of a user.
    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>);

    /// Decodes a frame for a user. Appends immediate replies to `out`. An error ends the run.
    fn read(
        &mut self,
        user: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()>;
}

/// A messenger with a history that can be read later.
pub(crate) trait History: Messenger {
    /// Whether a page begins with the newest message.
    const NEWEST_FIRST: bool = false;

    /// The address for page requests over HTTP. `None` if the members' sockets are used.
    fn pages_at(&self) -> Option<SocketAddr>;

    /// Appends the request of a member for the newest messages of a conversation.
    fn ask_newest(
        &mut self,
        conversation: u32,
        user: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()>;

    /// Extracts the messages of incoming data: the body of an answer with its status, or a frame without one. Returns
    /// whether the page is complete. Appends immediate replies to `out`.
    fn read_page(
        &mut self,
        user: u32,
        status: Option<u16>,
        came: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done>;
}

/// Whether the dialogue is complete.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Yes,
    NotYet,
}

/// A measured event in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The server has acknowledged the message with this ticket.
    Acknowledged { ticket: u32 },
    /// A message for the user, with its position in the conversation if the server has one.
    Delivered { stamp: Stamp, place: Option<u64> },
}
