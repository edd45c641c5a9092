//! Nodes on one store, with time, sockets and secrets that the test decides.

use std::sync::Arc;

use async_trait::async_trait;
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::model::{Draft, Password};
use godwit_domain::ports::{
    AccessClaims, Clock, HashError, PasswordHasher, RefreshClaims, TokenCodec, TokenError, VerifiedToken,
};
use godwit_domain::sessions::Lifetimes;
use godwit_domain::{App, Parts};
use godwit_protocol::accounts::Register;
use godwit_protocol::messages::{MessageKind, SendMessage};
use godwit_protocol::{ConversationId, DeviceId, Timestamp, UserId};
use godwit_testkit::{ModelStore, RecordingDelivery, TestClock};

pub(crate) struct Stage {
    pub(crate) clock: Arc<TestClock>,
    pub(crate) store: Arc<ModelStore>,
    pub(crate) delivery: Arc<RecordingDelivery>,
    pub(crate) app: App,
}

pub(crate) const LIFETIMES: Lifetimes = Lifetimes { access_ms: 900_000, refresh_ms: 86_400_000 };

impl Stage {
    pub(crate) fn new() -> Self {
        let clock = Arc::new(TestClock::default());
        let store = Arc::new(ModelStore::new(clock.clone()));
        let delivery = Arc::new(RecordingDelivery::default());
        let app = App::new(Parts {
            store: store.clone(),
            delivery: delivery.clone(),
            clock: clock.clone(),
            tokens: Arc::new(PlainTokens),
            hasher: Arc::new(PlainPasswords),
            lifetimes: LIFETIMES,
            policy: AccountPolicy { registration_open: true, passwords_enabled: true },
        });
        Self { clock, store, delivery, app }
    }

    /// Another node on the same store, which knows nothing of what this one has in memory.
    pub(crate) fn second_node(&self) -> App {
        App::new(Parts {
            store: self.store.clone(),
            delivery: self.delivery.clone(),
            clock: self.clock.clone(),
            tokens: Arc::new(PlainTokens),
            hasher: Arc::new(PlainPasswords),
            lifetimes: LIFETIMES,
            policy: AccountPolicy { registration_open: false, passwords_enabled: true },
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

pub(crate) fn text(client_id: &str) -> Draft {
    Draft::parse(SendMessage {
        conversation_id: None,
        client_id: client_id.into(),
        kind: MessageKind::Text,
        text: Some(format!("text of {client_id}")),
        media: None,
        event: None,
        reply_to: None,
        forwarded_from: None,
    })
    .unwrap()
}

/// Tokens that say what they mean.
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
        // Slow on purpose: much can happen meanwhile.
        tokio::task::yield_now().await;
        Ok(hash.as_deref() == Some(password.reveal()))
    }
}
