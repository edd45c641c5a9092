//! `godwit-bench relay`: a WebSocket server that relays messages and does nothing else. Its throughput is the upper limit
//! for a messenger on this machine.
//!
//! A frame is text: a letter, then numbers of eight hexadecimal digits. `j` and a room makes the connection join the room,
//! and is answered with `j`. `s`, a room, a ticket and any text is sent unchanged to all others in the room, and is answered
//! with `a` and the ticket.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::Context;
use clap::Args;
use futures_util::{FutureExt as _, SinkExt as _, StreamExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};
use tokio_tungstenite::{WebSocketStream, accept_async_with_config};

/// The default is 128 KiB per connection.
const READ_BUFFER_BYTES: usize = 4 * 1024;
/// The queue of one connection. The relay stores nothing, so a slow reader misses the excess.
const WAITING_MAX: usize = 1_024;
const DIGITS: usize = 8;

/// Relay messages and do nothing else
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let runtime = Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")?;
    runtime.block_on(async {
        let listener = TcpListener::bind(arguments.listen).await.context("cannot listen")?;
        let rooms = Arc::new(Rooms::default());
        loop {
            let (socket, _) = listener.accept().await.context("cannot accept connections")?;
            tokio::spawn(serve(socket, rooms.clone()));
        }
    })
}

#[derive(Debug, Default)]
struct Rooms(Mutex<HashMap<u32, Arc<Room>>>);

/// The members of a room. Every join adds an entry; closed ones are skipped.
#[derive(Debug, Default)]
struct Room(Mutex<Vec<Sender<Utf8Bytes>>>);

impl Rooms {
    fn join(&self, room: u32, member: &Sender<Utf8Bytes>) -> Arc<Room> {
        let room = self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(room).or_default().clone();
        room.0.lock().unwrap_or_else(PoisonError::into_inner).push(member.clone());
        room
    }
}

impl Room {
    fn hand_on(&self, from: &Sender<Utf8Bytes>, text: &Utf8Bytes) {
        let members = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for member in members.iter().filter(|member| !member.same_channel(from)) {
            // A member that has gone or is too slow misses the message.
            let _ = member.try_send(text.clone());
        }
    }
}

/// Serves one client, until it disconnects or sends an invalid frame.
async fn serve(socket: TcpStream, rooms: Arc<Rooms>) {
    let mut config = WebSocketConfig::default();
    config.read_buffer_size = READ_BUFFER_BYTES;
    // Latency matters: do not delay small packets.
    if socket.set_nodelay(true).is_err() {
        return;
    }
    let Ok(mut socket) = accept_async_with_config(socket, Some(config)).await else { return };
    let (sender, mut receiver) = channel(WAITING_MAX);
    let mut client = Client { rooms, sender, joined: HashMap::new() };
    while pass(&mut socket, &mut receiver, &mut client).await.is_some() {}
}

/// Waits for messages, takes all that are ready, and answers with one write. `None` at the end.
async fn pass(
    socket: &mut WebSocketStream<TcpStream>,
    receiver: &mut Receiver<Utf8Bytes>,
    client: &mut Client,
) -> Option<()> {
    tokio::select! {
        came = socket.next() => {
            let mut next = Some(came);
            while let Some(came) = next {
                if let Some(answer) = client.take(came?.ok()?)? {
                    socket.feed(answer).await.ok()?;
                }
                next = socket.next().now_or_never();
            }
        }
        text = receiver.recv() => {
            let mut next = text;
            while let Some(text) = next {
                socket.feed(Message::Text(text)).await.ok()?;
                next = receiver.try_recv().ok();
            }
        }
    }
    socket.flush().await.ok()
}

struct Client {
    rooms: Arc<Rooms>,
    sender: Sender<Utf8Bytes>,
    joined: HashMap<u32, Arc<Room>>,
}

impl Client {
    /// The reply. `None` for an invalid frame.
    fn take(&mut self, message: Message) -> Option<Option<Message>> {
        let Message::Text(text) = message else { return Some(None) };
        let room = u32::from_str_radix(text.get(1..=DIGITS)?, 16).ok()?;
        match text.as_bytes()[0] {
            b'j' => {
                self.joined.insert(room, self.rooms.join(room, &self.sender));
                Some(Some(Message::text("j")))
            }
            b's' => {
                let ticket = text.get(1 + DIGITS..1 + 2 * DIGITS)?;
                self.joined.get(&room)?.hand_on(&self.sender, &text);
                Some(Some(Message::text(format!("a{ticket}"))))
            }
            _ => None,
        }
    }
}
