//! Everything that can be read from a store, as text. Two stores that have executed the same calls give the same text, and a
//! call that must write nothing does not change it.
//!
//! - here: users, and the whole text
//! - `accounts`: the data of one user: devices, blocks, the account log, the inbox, stars and scheduled messages
//! - `logs`: conversations, their logs and their projections

mod accounts;
mod logs;

use std::fmt::{self, Debug};

use godwit_domain::model::{
    AccountEntry, ClientId, Handle, InviteToken, LogItem, SearchPrefix, Subject, User, UserPair,
};
use godwit_domain::ports::{Store, StoreError};
use godwit_protocol::{ConversationId, DeviceId, MessageId, ScheduledId, Timestamp, UserId};

use crate::paging::all_pages;

/// Each list is read in pages of each of these sizes. The last one is larger than any list of a test.
const PAGE_SIZES: [usize; 4] = [1, 2, 3, 500];

/// The keys of everything that a test has created.
#[derive(Debug, Clone, Default)]
pub struct Known {
    pub users: Vec<UserId>,
    pub handles: Vec<Handle>,
    pub subjects: Vec<Subject>,
    pub prefixes: Vec<SearchPrefix>,
    pub devices: Vec<DeviceId>,
    pub conversations: Vec<ConversationId>,
    pub messages: Vec<MessageId>,
    pub client_ids: Vec<ClientId>,
    pub tokens: Vec<InviteToken>,
    pub scheduled: Vec<ScheduledId>,
    pub times: Vec<Timestamp>,
    /// Compares times of changes by the minute.
    pub changes_by_minute: bool,
}

/// One question and the answer of the store.
#[derive(Clone, PartialEq, Eq)]
pub struct Reading {
    pub question: String,
    pub answer: String,
}

/// Asks the store every question about the known data.
pub async fn read_everything(store: &dyn Store, known: &Known) -> Result<Vec<Reading>, StoreError> {
    let mut readings = Readings::default();
    readings.people(store, known).await?;
    for &user in &known.users {
        readings.account(store, user).await?;
        readings.inbox(store, user, known).await?;
        readings.personal(store, user, known).await?;
    }
    for (a, b) in pairs(&known.users) {
        readings.add(format!("blocks between {a} and {b}"), store.blocks_between(a, b).await?);
        if let Some(pair) = UserPair::new(a, b) {
            readings.add(format!("direct of {a} and {b}"), store.direct_of(pair).await?);
        }
    }
    for &id in &known.conversations {
        readings.members(store, id, known).await?;
        readings.log(store, id).await?;
        readings.projections(store, id, known).await?;
        readings.around_messages(store, id, known).await?;
    }
    for &message in &known.messages {
        readings.add(format!("locate {message}"), store.locate(message).await?);
    }
    for token in &known.tokens {
        readings.add(format!("invited by {}", token.as_str()), store.invited_to(token).await?);
    }
    readings.due(store, known).await?;
    Ok(readings.0)
}

#[derive(Default)]
struct Readings(Vec<Reading>);

impl Readings {
    fn add(&mut self, question: String, answer: impl Debug) {
        self.0.push(Reading { question, answer: format!("{answer:?}") });
    }

    async fn people(&mut self, store: &dyn Store, known: &Known) -> Result<(), StoreError> {
        let mut users = store.users(&known.users).await?;
        users.sort_by_key(|user| user.id);
        self.add("users".to_owned(), users);
        for &id in &known.users {
            self.add(format!("user {id}"), store.user(id).await?);
        }
        for handle in &known.handles {
            self.add(format!("handle {handle}"), store.user_by_handle(handle).await?);
        }
        for subject in &known.subjects {
            self.add(format!("subject {subject}"), store.user_by_subject(subject).await?);
        }
        for &id in &known.devices {
            self.add(format!("device {id}"), store.device(id).await?);
        }
        for prefix in &known.prefixes {
            for limit in PAGE_SIZES {
                let found =
                    all_pages(limit, |user: &User| user.id, |after| store.search_users(prefix, after, limit));
                self.add(format!("search {prefix} by {limit}"), found.await?);
            }
        }
        Ok(())
    }
}

/// Removes the `seq`: stores may number their account logs differently, as long as the numbers increase.
pub fn without_seq(entry: AccountEntry) -> AccountEntry {
    AccountEntry { seq: 0, ..entry }
}

/// Removes an empty message state: a store need not keep a state whose changes were all undone.
pub fn plain(item: LogItem) -> LogItem {
    if item.state.is_default() { LogItem::unchanged(item.entry) } else { item }
}

impl Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.question, self.answer)
    }
}

fn pairs<T: Copy>(items: &[T]) -> impl Iterator<Item = (T, T)> {
    items.iter().flat_map(|&a| items.iter().map(move |&b| (a, b)))
}
