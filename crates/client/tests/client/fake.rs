//! A scripted server: the test accepts connections one after the other, and chooses every frame.

use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use godwit_client::Http;
use godwit_client::live::{Backoff, Live, LiveConfig, StartAt, Update, Updates};
use godwit_client::protocol::messages::SendMessage;
use godwit_client::protocol::socket::{
    CloseCode, Command, CommandFrame, EntryEvent, ErrorFrame, Event, Hello, OkFrame, ReadLog, Reconnect, Sync,
};
use godwit_client::protocol::sync::SyncPage;
use godwit_client::protocol::{ConversationId, Problem};
use serde::Serialize;
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message as Frame;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;
use tokio_tungstenite::{WebSocketStream, accept_async};

use crate::sample;

/// The time limit of every wait, longer than any step takes.
const PATIENCE: Duration = Duration::from_secs(30);
/// Long enough for an unwanted event to happen.
pub(crate) const A_WHILE: Duration = Duration::from_millis(100);

pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    timeout(PATIENCE, work).await.unwrap_or_else(|_| panic!("waited in vain for {what}"))
}

pub(crate) struct FakeServer {
    listener: TcpListener,
    pub(crate) url: String,
}

impl FakeServer {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        Self { listener, url }
    }

    /// Signed in with a token that never expires.
    pub(crate) fn http(&self) -> Http {
        let http = Http::new(&self.url).unwrap();
        http.set_access_token("token");
        http
    }

    pub(crate) fn live(&self, config: LiveConfig) -> (Live, Updates) {
        Live::start(self.http(), config)
    }

    pub(crate) async fn accept_tcp(&self) -> TcpStream {
        soon("a connection", self.listener.accept()).await.unwrap().0
    }

    /// Accepts a connection and sends this hello.
    pub(crate) async fn greet(&self, hello: Hello) -> Peer {
        Peer::greet(self.accept_tcp().await, hello).await
    }

    pub(crate) async fn accept(&self) -> Peer {
        self.greet(sample::hello()).await
    }

    /// Accepts a connection and its sign-in.
    pub(crate) async fn sign_in(&self) -> Peer {
        let mut peer = self.accept().await;
        let frame = peer.command().await;
        assert!(matches!(frame.command, Command::SignIn(_)), "{frame:?} is not a sign-in");
        peer.ok(frame.id, &sample::signed_in()).await;
        peer
    }

    /// Accepts a connection and its sign-in, and answers its sync. Returns the token of the sync.
    pub(crate) async fn sync(&self, page: SyncPage) -> (Peer, Option<String>) {
        let mut peer = self.sign_in().await;
        let (id, sync) = peer.sync_command().await;
        peer.ok(id, &page).await;
        (peer, sync.since)
    }
}

/// One connection of a client.
pub(crate) struct Peer {
    stream: WebSocketStream<TcpStream>,
}

impl Peer {
    pub(crate) async fn greet(stream: TcpStream, hello: Hello) -> Self {
        let stream = soon("the handshake", accept_async(stream)).await.unwrap();
        let mut peer = Self { stream };
        peer.event(&Event::Hello(hello)).await;
        peer
    }

    pub(crate) async fn command(&mut self) -> CommandFrame {
        loop {
            match soon("a command", self.stream.next()).await {
                Some(Ok(Frame::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Frame::Ping(_) | Frame::Pong(_))) => {}
                other => panic!("{other:?} is not a command"),
            }
        }
    }

    pub(crate) async fn sync_command(&mut self) -> (u64, Sync) {
        match self.command().await {
            CommandFrame { id, command: Command::Sync(sync) } => (id, sync),
            other => panic!("{other:?} is not a sync"),
        }
    }

    pub(crate) async fn log_command(&mut self) -> (u64, ReadLog) {
        match self.command().await {
            CommandFrame { id, command: Command::Log(log) } => (id, log),
            other => panic!("{other:?} is not a log"),
        }
    }

    pub(crate) async fn send_command(&mut self) -> (u64, SendMessage) {
        match self.command().await {
            CommandFrame { id, command: Command::Send(send) } => (id, send),
            other => panic!("{other:?} is not a send"),
        }
    }

    /// Checks that the client sends nothing for a while.
    pub(crate) async fn stays_quiet(&mut self) {
        if let Ok(frame) = timeout(A_WHILE, self.stream.next()).await {
            panic!("{frame:?} came unexpectedly");
        }
    }

    /// Waits until the client has disconnected.
    pub(crate) async fn is_gone(&mut self) {
        soon("the end of the connection", async {
            while let Some(Ok(frame)) = self.stream.next().await {
                assert!(!frame.is_text(), "{frame:?} came unexpectedly");
            }
        })
        .await;
    }

    pub(crate) async fn ok(&mut self, id: u64, ok: &impl Serialize) {
        self.text(&OkFrame { id, ok }).await;
    }

    pub(crate) async fn error(&mut self, id: u64, error: Problem) {
        self.text(&ErrorFrame { id: Some(id), error }).await;
    }

    pub(crate) async fn event(&mut self, event: &Event) {
        self.text(event).await;
    }

    pub(crate) async fn entries(&mut self, id: ConversationId, seqs: impl IntoIterator<Item = u64>) {
        for seq in seqs {
            let event = EntryEvent { conversation_id: id, entry: sample::entry(id, seq) };
            self.event(&Event::Entry(event)).await;
        }
    }

    pub(crate) async fn reconnect(&mut self, after_ms: u32) {
        self.event(&Event::Reconnect(Reconnect { after_ms })).await;
    }

    pub(crate) async fn raw(&mut self, frame: Frame) {
        soon("room to write", self.stream.send(frame)).await.unwrap();
    }

    /// The next frame of any kind, including pings and close frames.
    pub(crate) async fn frame(&mut self) -> Option<Frame> {
        soon("a frame", self.stream.next()).await.map(Result::unwrap)
    }

    pub(crate) async fn close(mut self, code: CloseCode) {
        let frame = CloseFrame { code: code.code().into(), reason: code.reason().into() };
        self.raw(Frame::Close(Some(frame))).await;
        // Reads the answer, so that a reset does not discard the close frame.
        while let Some(Ok(_)) = soon("the end", self.stream.next()).await {}
    }

    async fn text(&mut self, frame: &impl Serialize) {
        self.raw(Frame::text(serde_json::to_string(frame).unwrap())).await;
    }
}

/// A configuration that starts at the first entry, without acknowledgements and with short waits.
pub(crate) fn eager() -> LiveConfig {
    LiveConfig {
        start: StartAt::Beginning,
        acknowledge_after: None,
        sync_every: None,
        backoff: Backoff {
            first: Duration::from_millis(5),
            max: Duration::from_millis(20),
            stable_after: Duration::from_secs(60),
        },
        ..LiveConfig::default()
    }
}

/// The next update, except those about the connection.
pub(crate) async fn next(updates: &mut Updates) -> Update {
    loop {
        match soon("an update", updates.next()).await {
            Some(Update::Connection(_)) => {}
            Some(update) => return update,
            None => panic!("the session has ended"),
        }
    }
}

/// The `seq`s of the next entries of one conversation. Only snapshots and the end of a round may come between them.
pub(crate) async fn entries(updates: &mut Updates, id: ConversationId, count: usize) -> Vec<u64> {
    let mut seqs = Vec::new();
    while seqs.len() < count {
        match next(updates).await {
            Update::Entry(event) if event.conversation_id == id => seqs.push(event.entry.seq.get()),
            Update::Conversation(_) | Update::CaughtUp => {}
            other => panic!("{other:?} came among the entries"),
        }
    }
    seqs
}

/// Waits for the end of a round. Returns the `seq`s of the entries before it.
pub(crate) async fn caught_up(updates: &mut Updates) -> Vec<u64> {
    let mut seqs = Vec::new();
    loop {
        match next(updates).await {
            Update::Entry(event) => seqs.push(event.entry.seq.get()),
            Update::CaughtUp => return seqs,
            Update::Conversation(_) => {}
            other => panic!("{other:?} came before the end of the round"),
        }
    }
}

/// Checks that no update arrives for a while, except those about the connection.
pub(crate) async fn nothing(updates: &mut Updates) {
    let unexpected = timeout(A_WHILE, async {
        loop {
            match updates.next().await {
                Some(Update::Connection(_)) => {}
                other => return other,
            }
        }
    });
    if let Ok(update) = unexpected.await {
        panic!("{update:?} came unexpectedly");
    }
}
