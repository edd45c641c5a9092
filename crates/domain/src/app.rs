//! All use cases, wired to each other.

use std::sync::{Arc, Mutex};

use crate::account_log::AccountLog;
use crate::accounts::{AccountPolicy, Accounts};
use crate::actions::{ActionParts, Actions, MessagePolicy};
use crate::allowances::{AddingPolicy, Allowances};
use crate::concealing::Concealing;
use crate::consent::Consent;
use crate::conversations::Conversations;
use crate::cursors::{Cursors, Saved};
use crate::following::Following;
use crate::groups::Groups;
use crate::inbox::Inbox;
use crate::messages::{Reading, Writing};
use crate::own_writes::OwnWrites;
use crate::peers::FromPeers;
use crate::people::People;
use crate::personal::Personal;
use crate::ports::{Clock, Delivery, PasswordHasher, Peers, Store, TokenCodec};
use crate::presence::Presence;
use crate::profiles::Profiles;
use crate::sessions::{EndedSessions, Lifetimes, Sessions};
use crate::sweeper::Sweeper;
use crate::sync::Sync;

/// The dependencies of the use cases.
#[derive(Debug, Clone)]
pub struct Parts {
    pub store: Arc<dyn Store>,
    pub delivery: Arc<dyn Delivery>,
    pub peers: Arc<dyn Peers>,
    pub clock: Arc<dyn Clock>,
    pub tokens: Arc<dyn TokenCodec>,
    pub hasher: Arc<dyn PasswordHasher>,
    pub lifetimes: Lifetimes,
    pub policy: AccountPolicy,
    pub messages: MessagePolicy,
    pub adding: AddingPolicy,
}

/// One handle for each group of use cases. Transports hold this and nothing else of the domain.
#[derive(Debug, Clone)]
pub struct App {
    pub accounts: Arc<Accounts>,
    pub sessions: Arc<Sessions>,
    pub people: Arc<People>,
    pub inbox: Arc<Inbox>,
    pub groups: Arc<Groups>,
    pub writing: Arc<Writing>,
    pub reading: Arc<Reading>,
    pub personal: Arc<Personal>,
    pub cursors: Arc<Cursors>,
    pub sync: Arc<Sync>,
    pub presence: Arc<Presence>,
    pub sweeper: Arc<Sweeper>,
    pub from_peers: Arc<FromPeers>,
}

impl App {
    pub fn new(parts: Parts) -> Self {
        let Parts { store, delivery, peers, clock, tokens, hasher, lifetimes, policy, messages, adding } =
            parts;
        let conversations = Arc::new(Conversations::new(store.clone()));
        let account_log = Arc::new(AccountLog {
            store: store.clone(),
            conversations: conversations.clone(),
            delivery: delivery.clone(),
        });
        let following =
            Arc::new(Following { conversations: conversations.clone(), delivery: delivery.clone() });
        let presence = Arc::new(Presence {
            store: store.clone(),
            conversations: conversations.clone(),
            following: following.clone(),
            delivery: delivery.clone(),
            clock: clock.clone(),
        });
        let sessions = Arc::new(Sessions {
            store: store.clone(),
            account_log: account_log.clone(),
            delivery: delivery.clone(),
            clock: clock.clone(),
            tokens,
            lifetimes,
            reserved_handles: policy.reserved_handles.clone(),
            ended: EndedSessions::new(),
        });
        let allowances = Arc::new(Allowances { store: store.clone(), clock: clock.clone(), policy: adding });
        let own_writes = Arc::new(OwnWrites::new(store.clone()));
        let profiles = Arc::new(Profiles {
            store: store.clone(),
            conversations: conversations.clone(),
            delivery: delivery.clone(),
        });
        let accounts = Arc::new(Accounts {
            store: store.clone(),
            sessions: sessions.clone(),
            account_log: account_log.clone(),
            presence: presence.clone(),
            conversations: conversations.clone(),
            peers: peers.clone(),
            profiles,
            allowances: allowances.clone(),
            own_writes: own_writes.clone(),
            delivery: delivery.clone(),
            clock: clock.clone(),
            hasher,
            policy,
        });
        let people = Arc::new(People {
            store: store.clone(),
            conversations: conversations.clone(),
            account_log: account_log.clone(),
            presence: presence.clone(),
            delivery: delivery.clone(),
            peers: peers.clone(),
            clock: clock.clone(),
        });
        let concealing = Arc::new(Concealing {
            conversations: conversations.clone(),
            delivery: delivery.clone(),
            peers: peers.clone(),
        });
        let inbox = Arc::new(Inbox {
            store: store.clone(),
            conversations: conversations.clone(),
            account_log: account_log.clone(),
            concealing: concealing.clone(),
            allowances: allowances.clone(),
            own_writes: own_writes.clone(),
            clock: clock.clone(),
        });
        let consent = Consent { store: store.clone(), conversations: conversations.clone() };
        let actions = Arc::new(Actions::new(ActionParts {
            store: store.clone(),
            conversations: conversations.clone(),
            consent: consent.clone(),
            account_log: account_log.clone(),
            following: following.clone(),
            delivery: delivery.clone(),
            clock: clock.clone(),
            peers: peers.clone(),
            policy: messages,
        }));
        let groups = Arc::new(Groups {
            store: store.clone(),
            conversations: conversations.clone(),
            inbox: inbox.clone(),
            people: people.clone(),
            consent,
            allowances,
            own_writes: own_writes.clone(),
            actions: actions.clone(),
            account_log: account_log.clone(),
            following,
            clock: clock.clone(),
            policy: messages,
        });
        let cursors = Arc::new(Cursors {
            store: store.clone(),
            conversations: conversations.clone(),
            inbox: inbox.clone(),
            account_log: account_log.clone(),
            delivery,
            peers,
            clock: clock.clone(),
            untold: Mutex::default(),
            saved: Saved::default(),
        });
        let reading = Arc::new(Reading {
            store: store.clone(),
            conversations: conversations.clone(),
            clock: clock.clone(),
        });
        let writing = Arc::new(Writing {
            store: store.clone(),
            actions: actions.clone(),
            reading: reading.clone(),
            account_log: account_log.clone(),
            concealing,
            clock: clock.clone(),
        });
        let from_peers = Arc::new(FromPeers {
            conversations: conversations.clone(),
            actions: actions.clone(),
            own_writes: own_writes.clone(),
            presence: presence.clone(),
            sessions: sessions.clone(),
        });
        let personal = Arc::new(Personal {
            store: store.clone(),
            conversations,
            reading: reading.clone(),
            writing: writing.clone(),
            own_writes,
            account_log: account_log.clone(),
            clock: clock.clone(),
        });
        let sweeper = Arc::new(Sweeper {
            store: store.clone(),
            actions,
            personal: personal.clone(),
            clock: clock.clone(),
        });
        let sync = Arc::new(Sync { store, inbox: inbox.clone(), account_log, clock });
        Self {
            accounts,
            sessions,
            people,
            inbox,
            groups,
            writing,
            reading,
            personal,
            cursors,
            sync,
            presence,
            sweeper,
            from_peers,
        }
    }
}
