//! Everything that can be read from a store, as text: two stores that were asked to do the same give the same text, and
//! a call that must write nothing leaves it as it was.

use std::fmt::{self, Debug};

use godwit_domain::model::{AccountEntry, ClientId, Handle, SearchPrefix, Subject, User, UserPair};
use godwit_domain::ports::{InboxRow, MessageOrder, SeqRange, Store, StoreError};
use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, Timestamp, UserId};

use crate::paging::{account_log_after, all_pages};

/// Each list is read in pages of each of these sizes. The last one holds everything that a test makes.
const PAGE_SIZES: [usize; 4] = [1, 2, 3, 500];

/// What there is to ask about.
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
    pub times: Vec<Timestamp>,
}

/// One question and what the store answered.
#[derive(Clone, PartialEq, Eq)]
pub struct Reading {
    pub question: String,
    pub answer: String,
}

/// Asks every question that there is about what is known.
pub async fn read_everything(store: &dyn Store, known: &Known) -> Result<Vec<Reading>, StoreError> {
    let mut readings = Readings::default();
    readings.people(store, known).await?;
    for &user in &known.users {
        readings.account(store, user).await?;
        readings.inbox(store, user, known).await?;
    }
    for (a, b) in pairs(&known.users) {
        readings.add(format!("blocks between {a} and {b}"), store.blocks_between(a, b).await?);
        if let Some(pair) = UserPair::new(a, b) {
            readings.add(format!("direct of {a} and {b}"), store.direct_of(pair).await?);
        }
    }
    for &id in &known.conversations {
        readings.log(store, id).await?;
        readings.projections(store, id, known).await?;
    }
    for &message in &known.messages {
        readings.add(format!("locate {message}"), store.locate(message).await?);
    }
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

    async fn account(&mut self, store: &dyn Store, user: UserId) -> Result<(), StoreError> {
        self.add(format!("devices of {user}"), store.devices_of(user).await?);
        for limit in PAGE_SIZES {
            let blocked = all_pages(limit, |id| *id, |after| store.blocked_by(user, after, limit)).await?;
            self.add(format!("blocked by {user} by {limit}"), blocked);
            let log = account_log_after(store, user, 0, limit).await?.expect("the log is short");
            assert!(log.is_sorted_by_key(|entry| entry.seq), "the account log of {user} is not in order");
            let read_to = log.last().map_or(0, |entry| entry.seq);
            assert_eq!(store.account_head(user).await?, read_to, "the account log of {user} ends elsewhere");
            let log: Vec<_> = log.into_iter().map(without_seq).collect();
            self.add(format!("account log of {user} by {limit}"), log);
        }
        Ok(())
    }

    async fn inbox(&mut self, store: &dyn Store, user: UserId, known: &Known) -> Result<(), StoreError> {
        for limit in PAGE_SIZES {
            for archived in [false, true] {
                let page = |after| store.inbox(user, archived, after, limit);
                let rows = all_pages(limit, InboxRow::position, page).await?;
                self.add(format!("inbox of {user}, archived {archived}, by {limit}"), rows);
            }
            for &floor in &known.times {
                let page = |after| store.active_since(user, floor, after, limit);
                let rows = all_pages(limit, InboxRow::activity, page).await?;
                self.add(format!("active of {user} since {floor} by {limit}"), rows);
            }
        }
        for &id in &known.conversations {
            self.add(format!("settings of {user} in {id}"), store.settings(user, id).await?);
        }
        Ok(())
    }

    async fn log(&mut self, store: &dyn Store, id: ConversationId) -> Result<(), StoreError> {
        let state = store.load(id).await?;
        let seqs = state.as_ref().map_or(0, |state| state.head.seq.get()) + 2;
        self.add(format!("conversation {id}"), state);
        for after in (0..seqs).map(Seq::new) {
            self.add(format!("entry {after} of {id}"), store.entry(id, after).await?);
            for limit in PAGE_SIZES {
                let entries = store.entries(id, after, limit).await?;
                self.add(format!("{limit} entries of {id} after {after}"), entries);
            }
            for before in (after.get()..=seqs).chain([u64::MAX]).map(Seq::new) {
                for order in [MessageOrder::OldestFirst, MessageOrder::NewestFirst] {
                    for limit in PAGE_SIZES {
                        let messages = store.messages(id, SeqRange { after, before }, order, limit).await?;
                        let question = format!("{limit} messages of {id}, {after} to {before}, {order:?}");
                        self.add(question, messages.iter().map(|entry| entry.seq).collect::<Vec<_>>());
                    }
                }
            }
        }
        Ok(())
    }

    async fn projections(
        &mut self,
        store: &dyn Store,
        id: ConversationId,
        known: &Known,
    ) -> Result<(), StoreError> {
        let head = store.load(id).await?.map_or(Seq::ZERO, |state| state.head.seq);
        for seq in (1..=head.get()).map(Seq::new) {
            let receipts = store.receipts(id, seq, &known.users).await?;
            self.add(format!("receipts of {seq} in {id}"), receipts);
        }
        for &sender in &known.users {
            for client_id in &known.client_ids {
                let sent = store.sent_as(id, sender, client_id).await?;
                self.add(format!("sent by {sender} in {id} as {client_id:?}"), sent);
            }
        }
        // Where there is no log there is no place in it either.
        if head > Seq::ZERO {
            for &time in &known.times {
                self.add(format!("seq of {id} at {time}"), store.seq_at(id, time).await?);
            }
        }
        Ok(())
    }
}

/// Stores number their account logs as they like, as long as the numbers rise.
pub fn without_seq(entry: AccountEntry) -> AccountEntry {
    AccountEntry { seq: 0, ..entry }
}

impl Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.question, self.answer)
    }
}

fn pairs<T: Copy>(items: &[T]) -> impl Iterator<Item = (T, T)> {
    items.iter().flat_map(|&a| items.iter().map(move |&b| (a, b)))
}
