//! What talks to a messenger server. Each kind is one file that implements [`Messenger`].
//!
//! - [`godwit`]: Godwit's WebSocket
//! - [`wukongim`], [`tinode`], [`ejabberd`]: peers that keep what they acknowledge
//! - [`centrifugo`], [`relay`]: those that do not
//! - [`stamp`]: what every text carries, so that its receivers can check it
//!
//! A run knows users and conversations by numbers; what a server calls them, its messenger keeps. Adding one: write what
//! opens and signs in a socket, what makes a conversation, the frame of a send, and what frames mean that come. Sending and
//! reading must not allocate: they are called for every message, and what the generator costs is taken from the server.

pub(crate) mod centrifugo;
pub(crate) mod ejabberd;
pub(crate) mod godwit;
pub(crate) mod relay;
pub(crate) mod stamp;
pub(crate) mod tinode;
pub(crate) mod wukongim;

use std::net::SocketAddr;

use stamp::Stamp;

/// A server that carries messages, as its clients see it. User `n` is on connection `n`.
pub(crate) trait Messenger {
    /// For results.
    fn name(&self) -> &'static str;

    fn address(&self) -> SocketAddr;

    /// After the server has started again.
    fn move_to(&mut self, address: SocketAddr);

    /// Makes users known to a server that has to know them before they come.
    fn prepare(&mut self, _users: u32) -> anyhow::Result<()> {
        Ok(())
    }

    /// The path of the WebSocket, and whole header lines that it is opened with.
    fn handshake(&mut self, user: u32) -> anyhow::Result<(String, String)>;

    /// Signs a user in. Called without a frame when the socket is open, and with every frame that comes until it says that it
    /// is done; frames to send are appended to `out`.
    fn sign_in(&mut self, user: u32, frame: Option<&[u8]>, out: &mut Vec<u8>) -> anyhow::Result<Done>;

    /// A conversation of these users, who are signed in; the first of them begins it. Gives it the next number, from 0 on.
    fn plan_conversation(&mut self, members: &[u32]) -> u32;

    /// What a member does so that it takes part: the first one makes the conversation and is done before the others begin.
    /// Called as [`Messenger::sign_in`] is.
    fn join(
        &mut self,
        conversation: u32,
        user: u32,
        frame: Option<&[u8]>,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<Done>;

    /// Appends the frame that sends a text, which is ASCII without anything to be escaped. The acknowledgement has to bring
    /// the ticket back, which rises by one with each send of a user.
    fn send(&mut self, conversation: u32, user: u32, ticket: u32, text: &[u8], out: &mut Vec<u8>);

    /// Says what a frame means that came to a user. What the server wants to hear at once is appended to `out`. An error ends
    /// the run.
    fn read(
        &mut self,
        user: u32,
        frame: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Incoming),
    ) -> anyhow::Result<()>;
}

/// A messenger that keeps what was said, so that it can be read later.
pub(crate) trait History: Messenger {
    /// Whether a page begins with the newest message.
    const NEWEST_FIRST: bool = false;

    /// Where pages are asked for over HTTP; nothing where the sockets of the members are used for it.
    fn pages_at(&self) -> Option<SocketAddr>;

    /// Appends the request of a member for the newest messages of a conversation.
    fn ask_newest(
        &mut self,
        conversation: u32,
        user: u32,
        messages: u32,
        out: &mut Vec<u8>,
    ) -> anyhow::Result<()>;

    /// Hands out the messages of what came: the body of an answer with its status, or a frame without one. Says whether the
    /// page is complete with it. What the server wants to hear at once is appended to `out`.
    fn read_page(
        &mut self,
        user: u32,
        status: Option<u16>,
        came: &[u8],
        out: &mut Vec<u8>,
        each: &mut impl FnMut(Stamp),
    ) -> anyhow::Result<Done>;
}

/// Whether that was all.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    Yes,
    NotYet,
}

/// What a frame brings that is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Incoming {
    /// The server promises to keep what was sent with this ticket.
    Acknowledged { ticket: u32 },
    /// A message for the user, with its place in the order of the conversation where the server has one.
    Delivered { stamp: Stamp, place: Option<u64> },
}
