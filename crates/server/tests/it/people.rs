//! People with devices, and the events that their devices receive.

use std::future::Future;
use std::time::Duration;

use futures_util::future::join_all;
use godwit_client::protocol::accounts::{Register, SignIn};
use godwit_client::protocol::messages::LogEntry;
use godwit_client::protocol::socket::Event;
use godwit_client::protocol::sync::AccountChange;
use godwit_client::protocol::{ConversationId, DeviceId, ErrorCode, Seq, Timestamp, UserId};
use godwit_client::{Closed, Error, Events, Http, HttpConfig, Socket, SocketConfig};
use godwit_domain::ports::Clock;
use godwit_server::clock::SystemClock;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::logs::LogChecker;
use crate::store::may_be_on_cassandra;

/// See [`patience`].
const PATIENCE: Duration = Duration::from_secs(60);

const STORE_LATE_PAUSE: Duration = Duration::from_millis(500);

pub(crate) const PASSWORD: &str = "a long enough password";

/// The time limit that stops a hanging test. No test measures time with it. On Cassandra, whose nodes run on the same machine,
/// everything takes longer.
pub(crate) fn patience() -> Duration {
    if may_be_on_cassandra() { 4 * PATIENCE } else { PATIENCE }
}

pub(crate) async fn soon<T>(what: &str, work: impl Future<Output = T>) -> T {
    match timeout(patience(), work).await {
        Ok(done) => done,
        Err(_) => panic!("waited too long for {what}"),
    }
}

/// Retries an idempotent request. Cassandra on an overloaded machine can be slow, and tests do not depend on the first
/// attempt of their preparations.
pub(crate) async fn answered<T>(ask: impl AsyncFn() -> Result<T, Error>) -> T {
    let asking = async {
        loop {
            match ask().await {
                Ok(answer) => return answer,
                Err(error) if is_store_late(&error) => sleep(STORE_LATE_PAUSE).await,
                Err(error) => panic!("{error:?}"),
            }
        }
    };
    soon("the store to answer", asking).await
}

/// A client that waits for short times only may give up before the server does.
fn is_store_late(error: &Error) -> bool {
    match error {
        Error::Transport { .. } | Error::Timeout { .. } => true,
        _ => error.problem().is_some_and(|problem| problem.code == ErrorCode::Unavailable),
    }
}

/// A user, signed in on a device without a socket.
#[derive(Clone)]
pub(crate) struct Person {
    pub(crate) id: UserId,
    pub(crate) handle: String,
    pub(crate) http: Http,
}

/// A unique handle or other text with this prefix.
pub(crate) fn unique(name: &str) -> String {
    format!("{name}_{:010x}", rand::random_range(0..1_u64 << 40))
}

/// This many milliseconds from now, by the system clock.
pub(crate) fn in_ms(ms: i64) -> Timestamp {
    SystemClock.now().plus_millis(ms)
}

/// One day from now.
pub(crate) fn later() -> Timestamp {
    in_ms(24 * 60 * 60 * 1_000)
}

impl Person {
    /// Registers a user with a unique handle with this prefix.
    pub(crate) async fn register(url: &str, name: &str) -> Self {
        answered(async || Self::try_to_register(url, unique(name)).await).await
    }

    pub(crate) async fn register_as(url: &str, handle: String) -> Self {
        Self::try_to_register(url, handle).await.unwrap()
    }

    async fn try_to_register(url: &str, handle: String) -> Result<Self, Error> {
        let http = connect(url);
        let register = Register {
            handle: handle.clone(),
            password: PASSWORD.to_owned(),
            display_name: None,
            phone: None,
            device_name: Some("the first".to_owned()),
        };
        let signed_in = http.register(&register).await?;
        Ok(Self { id: signed_in.user.id, handle, http })
    }

    pub(crate) async fn stranger(url: &str) -> Self {
        Self::register(url, "stranger").await
    }

    pub(crate) async fn register_all<const N: usize>(url: &str, names: [&str; N]) -> [Self; N] {
        let registered = join_all(names.map(|name| Self::register(url, name))).await;
        registered.try_into().unwrap_or_else(|_| unreachable!("one person for each name"))
    }

    /// Another session of the user, over separate connections.
    pub(crate) async fn sign_in(&self, device_name: &str) -> (DeviceId, Http) {
        let http = connect(self.http.base_url());
        let sign_in = SignIn {
            handle: self.handle.clone(),
            password: PASSWORD.to_owned(),
            device_name: Some(device_name.to_owned()),
            device_proof: None,
        };
        let signed_in = answered(async || http.sign_in(&sign_in).await).await;
        (signed_in.device.id, http)
    }

    /// Another session of the user, with an open socket.
    pub(crate) async fn device(&self, name: &str) -> Device {
        let (id, http) = self.sign_in(name).await;
        Device::open(format!("{}'s {name}", self.handle), id, http).await
    }

    /// The same session after the server's address has changed.
    pub(crate) fn follow(&mut self, url: &str) {
        self.http = same_session(&self.http, url);
    }

    pub(crate) async fn open_direct(&self, other: &Self) -> ConversationId {
        answered(async || self.http.direct(other.id).await).await.id
    }
}

/// A signed-in client with an open socket, which records all events.
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) id: DeviceId,
    pub(crate) http: Http,
    pub(crate) socket: Socket,
    heard: watch::Receiver<Vec<Event>>,
}

impl Device {
    async fn open(name: String, id: DeviceId, http: Http) -> Self {
        let (socket, events) = open_socket(&http).await;
        let (keep, heard) = watch::channel(Vec::new());
        tokio::spawn(keep_all(events, keep));
        Self { name, id, http, socket, heard }
    }

    /// Waits for the first event that `pick` accepts, and returns its result.
    pub(crate) async fn hears<T>(&self, what: &str, pick: impl Fn(&Event) -> Option<T>) -> T {
        self.hears_all(what, |events| events.iter().find_map(&pick)).await
    }

    /// Waits until `pick` accepts all events together, and returns its result.
    pub(crate) async fn hears_all<T>(&self, what: &str, look: impl Fn(&[Event]) -> Option<T>) -> T {
        let mut heard = self.heard.clone();
        let enough =
            soon(&format!("{} to hear {what}", self.name), heard.wait_for(|events| look(events).is_some()))
                .await;
        let said = enough.ok().and_then(|events| look(&events));
        said.unwrap_or_else(|| panic!("the socket of {} closed before {what}", self.name))
    }

    pub(crate) async fn hears_account(&self, what: &str, fits: impl Fn(&AccountChange) -> bool) {
        self.hears(what, |event| match event {
            Event::Account(entry) => fits(&entry.change).then_some(()),
            _ => None,
        })
        .await;
    }

    /// Waits for the entries of a conversation up to this one, and checks each.
    pub(crate) async fn hears_log(&self, conversation: ConversationId, up_to: Seq) -> Vec<LogEntry> {
        self.hears(&format!("entry {up_to}"), |event| match event {
            Event::Entry(event) => {
                (event.conversation_id == conversation && event.entry.seq >= up_to).then_some(())
            }
            _ => None,
        })
        .await;
        self.heard_log(conversation)
    }

    /// The entries of a conversation so far, each checked.
    pub(crate) fn heard_log(&self, conversation: ConversationId) -> Vec<LogEntry> {
        let mut checker: Option<LogChecker> = None;
        for event in self.heard() {
            if let Event::Entry(event) = event
                && event.conversation_id == conversation
            {
                let before = Seq::new(event.entry.seq.get() - 1);
                checker.get_or_insert_with(|| LogChecker::after(&self.name, before)).take(event.entry);
            }
        }
        checker.map(LogChecker::into_entries).unwrap_or_default()
    }

    pub(crate) fn heard(&self) -> Vec<Event> {
        self.heard.borrow().clone()
    }

    pub(crate) async fn closed(&self) -> Closed {
        soon(&format!("the socket of {} to close", self.name), self.socket.wait_closed()).await
    }
}

/// Opens a socket that the handshake signs in.
pub(crate) async fn open_socket(http: &Http) -> (Socket, Events) {
    Socket::connect(http.base_url(), socket_config(http)).await.unwrap()
}

/// Signs in with the handshake.
pub(crate) fn socket_config(http: &Http) -> SocketConfig {
    SocketConfig {
        access_token: http.access_token(),
        connect_timeout: patience(),
        command_timeout: patience(),
        ..SocketConfig::default()
    }
}

/// The same session over separate connections.
pub(crate) fn same_session(http: &Http, url: &str) -> Http {
    let own = connect(url);
    own.set_tokens(http.tokens().unwrap());
    own
}

pub(crate) fn connect(url: &str) -> Http {
    let config =
        HttpConfig { connect_timeout: patience(), request_timeout: patience(), ..HttpConfig::default() };
    Http::with_config(url, &config).unwrap()
}

async fn keep_all(mut events: Events, keep: watch::Sender<Vec<Event>>) {
    while let Some(event) = events.next().await {
        keep.send_modify(|heard| heard.push(event));
    }
}
