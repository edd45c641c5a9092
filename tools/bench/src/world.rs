//! The use cases on an embedded store and on sockets without a network.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use async_trait::async_trait;
use godwit_delivery::{Hub, HubConfig};
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::actions::MessagePolicy;
use godwit_domain::allowances::AddingPolicy;
use godwit_domain::messages::HistoryPage;
use godwit_domain::model::{Draft, Handle, Password, User};
use godwit_domain::ports::{
    AccessClaims, Clock, CreateUser, DeviceProof, HashError, NoPeers, PasswordHasher, RefreshClaims,
    TokenCodec, TokenError, UserStore, VerifiedToken,
};
use godwit_domain::sessions::Lifetimes;
use godwit_domain::{App, Parts};
use godwit_protocol::conversations::NewConversation;
use godwit_protocol::limits::MEMBERS_ADDED_AT_ONCE_MAX;
use godwit_protocol::messages::{MessageKind, SendMessage};
use godwit_protocol::{ConversationId, Timestamp, UserId};
use godwit_store_embedded::{EmbeddedStore, Options};

use crate::clock::SystemClock;

/// Users created concurrently.
const USERS_AT_ONCE: usize = 256;
/// The queue of one socket, which is drained at once.
const QUEUE_FRAMES_MAX: usize = 1_024;
const QUEUE_BYTES_MAX: usize = 1024 * 1024;

#[derive(Debug)]
pub struct World {
    pub app: App,
    pub hub: Arc<Hub>,
    store: Arc<EmbeddedStore>,
}

impl World {
    pub fn open(folder: &Path) -> anyhow::Result<Self> {
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let store = Arc::new(EmbeddedStore::open(folder, clock.clone(), Options::default())?);
        let config = HubConfig {
            heartbeat_ms: 60_000,
            sign_in_within_ms: 60_000,
            queue_frames_max: QUEUE_FRAMES_MAX,
            per_user_max: usize::MAX,
            per_device_max: usize::MAX,
            answers_bytes_max: usize::MAX,
            queue_bytes_max: QUEUE_BYTES_MAX,
        };
        let hub = Arc::new(Hub::new(config, clock.clone()));
        let app = App::new(Parts {
            store: store.clone(),
            delivery: hub.clone(),
            peers: Arc::new(NoPeers),
            clock,
            tokens: Arc::new(Nobody),
            hasher: Arc::new(Nobody),
            lifetimes: Lifetimes { access_ms: 1, refresh_ms: 1 },
            policy: AccountPolicy {
                registration_open: false,
                passwords_enabled: false,
                reserved_handles: Vec::new(),
            },
            messages: MessagePolicy::default(),
            adding: AddingPolicy::UNLIMITED,
        });
        Ok(Self { app, hub, store })
    }

    /// A group with this many members, and the members, the owner first. `added` is called with the number of new members.
    pub async fn make_group(
        &self,
        members: usize,
        added: impl Fn(usize),
    ) -> anyhow::Result<(ConversationId, Vec<UserId>)> {
        let mut users = Vec::with_capacity(members);
        while users.len() < members {
            let count = USERS_AT_ONCE.min(members - users.len());
            let made = (users.len()..users.len() + count).map(|number| self.make_user(number));
            users.extend(futures_util::future::try_join_all(made).await?);
        }
        let new = NewConversation { name: "Everybody".into(), ..NewConversation::default() };
        let made = self.app.groups.create(users[0], false, new).await?;
        let group = made.opened.conversation.id;
        for some in users[1..].chunks(MEMBERS_ADDED_AT_ONCE_MAX) {
            let outcomes = self.app.groups.add_members(users[0], group, some).await?;
            anyhow::ensure!(outcomes.iter().all(|outcome| outcome.added), "some members could not be added");
            added(some.len());
        }
        Ok((group, users))
    }

    async fn make_user(&self, number: usize) -> anyhow::Result<UserId> {
        let id = UserId::new(godwit_domain::ports::Store::ids(&*self.store).next()?);
        let handle = Handle::parse(&format!("user{number}"))?;
        let made = self.store.create_user(User::new(id, handle, SystemClock.now())).await?;
        anyhow::ensure!(made == CreateUser::Created, "user {number} already exists");
        Ok(id)
    }

    pub async fn send(&self, by: UserId, group: ConversationId, number: usize) -> anyhow::Result<()> {
        let draft = Draft::parse(SendMessage {
            conversation_id: None,
            client_id: format!("m{number}"),
            kind: Some(MessageKind::Text),
            text: Some(format!("message number {number}, which is about as long as most of them are")),
            media: None,
            event: None,
            data: None,
            reply_to: None,
            forwarded_from: None,
        })?;
        let sent = self.app.writing.send(by, group, draft).await?;
        anyhow::ensure!(!sent.repeated, "message {number} already exists");
        Ok(())
    }

    /// Checks that the sent messages are there.
    pub async fn check(&self, by: UserId, group: ConversationId, messages: usize) -> anyhow::Result<()> {
        let newest = self.app.reading.history(by, group, HistoryPage::Newest, 1).await?;
        let last = newest.messages.last().context("there is no message")?;
        anyhow::ensure!(last.client_id == Some(format!("m{}", messages - 1)), "the last message is missing");
        Ok(())
    }

    pub fn rows_written(&self) -> u64 {
        self.store.stats().rows_written
    }

    pub async fn close(self) -> anyhow::Result<()> {
        self.store.close().await.context("the store could not be closed")
    }
}

/// Authentication that accepts nobody.
#[derive(Debug)]
struct Nobody;

impl TokenCodec for Nobody {
    fn sign_access(&self, _: AccessClaims) -> String {
        String::new()
    }

    fn sign_refresh(&self, _: RefreshClaims) -> String {
        String::new()
    }

    fn verify(&self, _: &str, _: Timestamp) -> Result<VerifiedToken, TokenError> {
        Err(TokenError::Invalid)
    }

    fn verify_refresh(&self, _: &str, _: Timestamp) -> Result<RefreshClaims, TokenError> {
        Err(TokenError::Invalid)
    }

    fn sign_device_proof(&self, _: DeviceProof) -> String {
        String::new()
    }

    fn verify_device_proof(&self, _: &str, _: Timestamp) -> Result<DeviceProof, TokenError> {
        Err(TokenError::Invalid)
    }
}

#[async_trait]
impl PasswordHasher for Nobody {
    async fn hash(&self, _: Password) -> Result<String, HashError> {
        Err(HashError("passwords are not supported".into()))
    }

    async fn verify(&self, _: Password, _: Option<String>) -> Result<bool, HashError> {
        Ok(false)
    }
}
