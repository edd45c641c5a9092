//! Nodes on one store, with time, sockets and secrets that the test controls.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use async_trait::async_trait;
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::actions::MessagePolicy;
use godwit_domain::allowances::AddingPolicy;
use godwit_domain::messages::HistoryPage;
use godwit_domain::model::{ClientId, Draft, MessageBody, Password};
use godwit_domain::ports::{
    AccessClaims, Clock, DeviceProof, HashError, NoPeers, PasswordHasher, Peers, RefreshClaims, TokenCodec,
    TokenError, VerifiedToken,
};
use godwit_domain::sessions::Lifetimes;
use godwit_domain::{App, Parts};
use godwit_protocol::accounts::Register;
use godwit_protocol::conversations::{Conversation, NewConversation};
use godwit_protocol::messages::{Change, Message, MessageKind, SendMessage};
use godwit_protocol::socket::Event;
use godwit_protocol::{ConversationId, DeviceId, Seq, Timestamp, UserId};
use godwit_testkit::{ModelStore, RecordingDelivery, TestClock};

pub(crate) struct Stage {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<ModelStore>,
    pub(crate) delivery: Arc<RecordingDelivery>,
    pub(crate) app: App,
}

/// Handles that only the operator can assign.
pub(crate) const RESERVED: [&str; 2] = ["admin", "support"];

/// The daily allowances of one user.
pub(crate) const ADDING: AddingPolicy =
    AddingPolicy { members_per_day_max: 2_000, strangers_per_day_max: 1_000, groups_per_day_max: 50 };

pub(crate) const LIFETIMES: Lifetimes = Lifetimes { access_ms: 900_000, refresh_ms: 86_400_000 };

impl Stage {
    pub(crate) fn new() -> Self {
        Self::with_peers(Arc::new(NoPeers))
    }

    pub(crate) fn with_peers(peers: Arc<dyn Peers>) -> Self {
        let clock = Arc::new(TestClock::default());
        let store = Arc::new(ModelStore::new(clock.clone()));
        let delivery = Arc::new(RecordingDelivery::default());
        let parts = Parts {
            store: store.clone(),
            delivery: delivery.clone(),
            peers,
            clock: clock.clone(),
            tokens: Arc::new(PlainTokens),
            hasher: Arc::new(PlainPasswords),
            lifetimes: LIFETIMES,
            policy: AccountPolicy {
                registration_open: true,
                passwords_enabled: true,
                reserved_handles: RESERVED.map(str::to_owned).to_vec(),
            },
            messages: MESSAGES,
            adding: ADDING,
        };
        Self { clock, store, delivery, app: App::new(parts) }
    }

    /// Another node on the same store, with its own empty cache.
    pub(crate) fn second_node(&self) -> App {
        App::new(Parts {
            store: self.store.clone(),
            delivery: self.delivery.clone(),
            peers: Arc::new(NoPeers),
            clock: self.clock.clone(),
            tokens: Arc::new(PlainTokens),
            hasher: Arc::new(PlainPasswords),
            lifetimes: LIFETIMES,
            policy: AccountPolicy {
                registration_open: false,
                passwords_enabled: true,
                reserved_handles: RESERVED.map(str::to_owned).to_vec(),
            },
            messages: MESSAGES,
            adding: ADDING,
        })
    }

    pub(crate) async fn user(&self, handle: &str) -> UserId {
        self.app.accounts.add(&registration(handle)).await.unwrap().id
    }

    /// Two users and their conversation.
    pub(crate) async fn pair(&self) -> (UserId, UserId, ConversationId) {
        let (ada, bob) = (self.user("ada").await, self.user("bob").await);
        let opened = self.app.inbox.open_direct(ada, bob).await.unwrap();
        (ada, bob, opened.conversation.id)
    }

    /// Users with these handles.
    pub(crate) async fn users<const N: usize>(&self, handles: [&str; N]) -> [UserId; N] {
        let mut users = [UserId::new(0); N];
        for (user, handle) in users.iter_mut().zip(handles) {
            *user = self.user(handle).await;
        }
        users
    }

    /// A group that the first of the users has created.
    pub(crate) async fn group(&self, members: &[UserId]) -> ConversationId {
        self.make(false, members, NewConversation::default()).await
    }

    pub(crate) async fn channel(&self, members: &[UserId]) -> ConversationId {
        self.make(true, members, NewConversation::default()).await
    }

    pub(crate) async fn make(
        &self,
        channel: bool,
        members: &[UserId],
        new: NewConversation,
    ) -> ConversationId {
        let new = NewConversation { name: "Birds".into(), member_ids: members[1..].to_vec(), ..new };
        self.app.groups.create(members[0], channel, new).await.unwrap().opened.conversation.id
    }

    /// Sends a text and returns the message.
    pub(crate) async fn say(&self, by: UserId, conversation: ConversationId, words: &str) -> Message {
        self.app.writing.send(by, conversation, saying(words)).await.unwrap().message
    }

    /// The history as a user sees it: texts, and events in brackets.
    pub(crate) async fn history(&self, by: UserId, conversation: ConversationId) -> Vec<String> {
        let page = self.app.reading.history(by, conversation, HistoryPage::Newest, 200).await.unwrap();
        page.messages.into_iter().map(|message| shown(&message)).collect()
    }

    /// The names of the log's changes, as a user sees them.
    pub(crate) async fn log(&self, by: UserId, conversation: ConversationId) -> Vec<String> {
        let page = self.app.reading.log(by, conversation, Seq::ZERO, 200).await.unwrap();
        page.entries.iter().map(|entry| name_of(&entry.change)).collect()
    }

    pub(crate) async fn row(&self, by: UserId, conversation: ConversationId) -> Conversation {
        self.app.inbox.conversation(by, conversation).await.unwrap()
    }

    /// The inbox of a user.
    pub(crate) async fn inbox(&self, by: UserId) -> Vec<ConversationId> {
        let (rows, _) = self.app.inbox.page(by, false, None, 50).await.unwrap();
        rows.into_iter().map(|row| row.id).collect()
    }

    /// The names of the entries that a user has received live since the test last took the deliveries.
    pub(crate) fn heard(&self, user: UserId) -> Vec<String> {
        let events = self.delivery.events_for(user);
        let entries = events.iter().filter_map(|event| match event {
            Event::Entry(event) => Some(name_of(&event.entry.change)),
            _ => None,
        });
        entries.collect()
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }
}

pub(crate) fn registration(handle: &str) -> Register {
    Register {
        handle: handle.into(),
        password: format!("password of {handle}"),
        display_name: None,
        phone: None,
        device_name: None,
    }
}

/// A small limit, so that few members make a conversation large.
pub(crate) const MESSAGES: MessagePolicy =
    MessagePolicy { edit_window_ms: Some(3_600_000), admins_may_edit: false, fan_out_members_max: 4 };

fn name_of(change: &Change) -> String {
    let value = serde_json::to_value(change).unwrap();
    value["type"].as_str().unwrap().to_owned()
}

fn shown(message: &Message) -> String {
    match (&message.text, &message.event) {
        _ if message.deleted_at.is_some() => "(gone)".into(),
        (Some(text), _) => text.clone(),
        (None, Some(event)) => format!("[{event}]"),
        (None, None) => "?".into(),
    }
}

/// A text with a unique client id.
pub(crate) fn saying(words: &str) -> Draft {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let client_id = format!("said-{}", NUMBER.fetch_add(1, Ordering::Relaxed));
    let body = MessageBody::Text(words.into());
    Draft {
        client_id: ClientId::parse(&client_id).unwrap(),
        body: Some(body),
        reply_to: None,
        forwarded_from: None,
    }
}

pub(crate) fn text(client_id: &str) -> Draft {
    Draft::parse(SendMessage {
        conversation_id: None,
        client_id: client_id.into(),
        kind: Some(MessageKind::Text),
        text: Some(format!("text of {client_id}")),
        media: None,
        event: None,
        data: None,
        reply_to: None,
        forwarded_from: None,
    })
    .unwrap()
}

/// Tokens in plain text.
#[derive(Debug)]
struct PlainTokens;

impl TokenCodec for PlainTokens {
    fn sign_access(&self, claims: AccessClaims) -> String {
        format!("access {} {} {}", claims.user_id, claims.device_id, claims.expires_at.as_millis())
    }

    fn sign_refresh(&self, claims: RefreshClaims) -> String {
        format!("refresh {} {} {}", claims.device_id, claims.generation, claims.expires_at.as_millis())
    }

    fn verify(&self, token: &str, now: Timestamp) -> Result<VerifiedToken, TokenError> {
        let [user, device, expires] = parts(token, "access")?;
        let expires_at = unexpired(expires, now)?;
        Ok(VerifiedToken::Own(AccessClaims {
            user_id: UserId::new(user),
            device_id: DeviceId::new(device),
            expires_at,
        }))
    }

    fn verify_refresh(&self, token: &str, now: Timestamp) -> Result<RefreshClaims, TokenError> {
        let [device, generation, expires] = parts(token, "refresh")?;
        let expires_at = unexpired(expires, now)?;
        Ok(RefreshClaims { device_id: DeviceId::new(device), generation: generation as u32, expires_at })
    }

    fn sign_device_proof(&self, proof: DeviceProof) -> String {
        format!("device {} {} {}", proof.user_id, proof.device_id, proof.expires_at.as_millis())
    }

    fn verify_device_proof(&self, proof: &str, now: Timestamp) -> Result<DeviceProof, TokenError> {
        let [user, device, expires] = parts(proof, "device")?;
        let expires_at = unexpired(expires, now)?;
        Ok(DeviceProof { user_id: UserId::new(user), device_id: DeviceId::new(device), expires_at })
    }
}

fn parts(token: &str, kind: &str) -> Result<[u64; 3], TokenError> {
    let numbers = token.strip_prefix(kind).ok_or(TokenError::Invalid)?;
    let numbers: Vec<u64> = numbers.split_whitespace().filter_map(|n| n.parse().ok()).collect();
    numbers.try_into().map_err(|_| TokenError::Invalid)
}

fn unexpired(expires: u64, now: Timestamp) -> Result<Timestamp, TokenError> {
    let expires_at = Timestamp::from_millis(expires as i64);
    if expires_at > now { Ok(expires_at) } else { Err(TokenError::Expired) }
}

#[derive(Debug)]
struct PlainPasswords;

#[async_trait]
impl PasswordHasher for PlainPasswords {
    async fn hash(&self, password: Password) -> Result<String, HashError> {
        Ok(password.reveal().to_owned())
    }

    async fn verify(&self, password: Password, hash: Option<String>) -> Result<bool, HashError> {
        // Yields, because real hashing is slow and other tasks run in between.
        tokio::task::yield_now().await;
        Ok(hash.as_deref() == Some(password.reveal()))
    }
}
