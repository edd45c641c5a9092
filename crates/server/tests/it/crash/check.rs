//! The checks after a restart.

use std::collections::HashMap;

use godwit_client::History;
use godwit_client::protocol::limits::PAGE_MAX;
use godwit_client::protocol::messages::{LogEntry, Message, SendMessage};
use godwit_client::protocol::{ConversationId, MessageId, Seq, UserId};
use godwit_client::{Draft, Http};
use rand::rngs::StdRng;
use rand::seq::IndexedRandom;

use super::load::{Known, Load, Side};
use crate::logs::{assert_part_of, messages, read_log, same};
use crate::people::{Person, open_socket};

/// Acknowledged messages that are sent again after each restart.
const RETRIED: usize = 10;

/// Two people, their conversation, and the state of their clients.
pub(super) struct Pair {
    one: Person,
    other: Person,
    chat: ConversationId,
    acknowledged: HashMap<MessageId, Message>,
    unknown: Vec<(Side, SendMessage)>,
    heard: Vec<Vec<LogEntry>>,
    pub(super) in_flight_at_kills: usize,
    /// Of those, the messages that were stored although the answer was lost.
    pub(super) stored_unanswered: usize,
    /// The newest message from before the kill.
    newest_id: Option<MessageId>,
    sync_tokens: HashMap<UserId, String>,
}

impl Pair {
    pub(super) async fn new(one: Person, other: Person) -> Self {
        let chat = one.open_direct(&other).await;
        let first = one.http.send_message(chat, Draft::text("hello")).await.unwrap();
        Self {
            one,
            other,
            chat,
            acknowledged: [(first.id, same(first.value))].into(),
            unknown: Vec::new(),
            heard: Vec::new(),
            in_flight_at_kills: 0,
            stored_unanswered: 0,
            newest_id: None,
            sync_tokens: HashMap::new(),
        }
    }

    pub(super) fn acknowledged(&self) -> usize {
        self.acknowledged.len()
    }

    pub(super) fn start_load(&self, round: usize) -> Load {
        Load::start(&self.one.http, &self.other.http, self.chat, round)
    }

    /// Adds the clients' state after the load.
    pub(super) fn take(&mut self, known: Known) {
        for (side, sends) in known.sends {
            self.in_flight_at_kills += sends.unknown.len();
            self.unknown.extend(sends.unknown.into_iter().map(|message| (side, message)));
            self.acknowledged.extend(sends.acknowledged.into_iter().map(|m| (m.id, same(m))));
        }
        self.heard.extend(known.heard);
    }

    /// Checks that the log contains everything that was acknowledged or received, that retries cause no duplicates, and that
    /// all projections agree with the log.
    pub(super) async fn check(&mut self, random: &mut StdRng) {
        let log = read_log(&self.one.http, self.chat).await;
        self.check_log(&log);
        self.retry_unknown(&log).await;
        let log = read_log(&self.other.http, self.chat).await;
        self.check_log(&log);
        self.retry_acknowledged(random).await;
        assert_eq!(read_log(&self.one.http, self.chat).await.len(), log.len(), "nothing was added");
        self.check_history(&log).await;
        self.check_inbox(&log).await;
        self.check_sync(&log).await;
        self.newest_id = messages(&log).last().map(|message| message.id);
    }

    fn check_log(&self, log: &[LogEntry]) {
        let in_log: HashMap<MessageId, &Message> =
            messages(log).map(|message| (message.id, message)).collect();
        for (id, message) in &self.acknowledged {
            assert_eq!(in_log.get(id), Some(&message), "an acknowledged message");
        }
        for heard in &self.heard {
            assert_part_of(log, "a reader before the kill", heard);
        }
    }

    /// Retries the unanswered sends: stored messages are returned, and only the others are new.
    async fn retry_unknown(&mut self, log: &[LogEntry]) {
        for (side, message) in std::mem::take(&mut self.unknown) {
            let sender = self.person(side);
            let stored = messages(log).find(|stored| {
                stored.client_id.as_ref() == Some(&message.client_id) && stored.sender_id == sender.id
            });
            let sent = sender.http.send_message(self.chat, message).await.unwrap();
            assert_eq!(sent.is_new, stored.is_none(), "{:?} is not there twice", sent.client_id);
            if let Some(stored) = stored {
                assert_eq!(&same(sent.value.clone()), stored);
                self.stored_unanswered += 1;
            } else {
                assert!(Some(sent.id) > self.newest_id, "ids rise also over a restart");
            }
            self.acknowledged.insert(sent.id, same(sent.value));
        }
    }

    async fn retry_acknowledged(&self, random: &mut StdRng) {
        let all: Vec<&Message> = self.acknowledged.values().collect();
        let (one, _events) = open_socket(&self.one.http).await;
        for original in all.sample(random, RETRIED) {
            let draft = Draft::text("another text").client_id(original.client_id.clone().unwrap());
            let again = if original.sender_id == self.one.id {
                one.send(self.chat, draft).await.unwrap()
            } else {
                let sent = self.other.http.send_message(self.chat, draft).await.unwrap();
                assert!(!sent.is_new);
                sent.value
            };
            assert_eq!(&&same(again), original, "a retry gives the original");
            let by_id = self.other.http.message(original.id).await.unwrap();
            assert_eq!(&&same(by_id), original, "and so does its id");
        }
    }

    async fn check_history(&self, log: &[LogEntry]) {
        let newest = self.one.http.messages(self.chat, History::Newest, Some(PAGE_MAX)).await.unwrap();
        let expected: Vec<&Message> = messages(log).collect();
        let tail = &expected[expected.len().saturating_sub(usize::from(PAGE_MAX))..];
        assert!(newest.messages.into_iter().map(same).eq(tail.iter().copied().cloned()));
    }

    async fn check_inbox(&self, log: &[LogEntry]) {
        let head = log.last().unwrap().seq;
        for person in [&self.one, &self.other] {
            let inbox = person.http.conversations(None, Some(PAGE_MAX)).await.unwrap().conversations;
            let rows: Vec<_> = inbox.iter().filter(|row| row.id == self.chat).collect();
            let last = messages(log).last().unwrap();
            let [row] = rows[..] else {
                panic!("a conversation is in the inbox once, not {} times", rows.len())
            };
            assert_eq!(row.head, head);
            assert_eq!(
                row.last_message.as_ref().map(|shown| (shown.id, shown.seq)),
                Some((last.id, last.seq))
            );
            let opened = person.http.conversation(self.chat).await.unwrap();
            for cursor in &opened.cursors {
                assert!(
                    cursor.read <= cursor.delivered && cursor.delivered <= head,
                    "{cursor:?} with {head}"
                );
                let own = messages(log).filter(|message| message.sender_id == cursor.user_id).last();
                assert!(own.is_none_or(|own| own.seq <= cursor.read), "who sent has read up to it");
            }
            assert_eq!(row.unread, unread(log, row.me.read), "unread agrees with the log");
        }
    }

    /// A token from before the kill finds all later changes, and a first sync finds everything.
    async fn check_sync(&mut self, log: &[LogEntry]) {
        for person in [self.one.clone(), self.other.clone()] {
            let since = self.sync_tokens.get(&person.id).cloned();
            for since in [None, since] {
                let token = find_by_sync(&person.http, self.chat, log.last().unwrap().seq, since).await;
                self.sync_tokens.insert(person.id, token);
            }
        }
    }

    fn person(&self, side: Side) -> &Person {
        match side {
            Side::One => &self.one,
            Side::Other => &self.other,
        }
    }
}

fn unread(log: &[LogEntry], read: Seq) -> u64 {
    messages(log).filter(|message| message.seq > read).count() as u64
}

/// Returns the next token.
async fn find_by_sync(http: &Http, chat: ConversationId, head: Seq, mut since: Option<String>) -> String {
    let mut found = false;
    loop {
        let page = http.sync(since.as_deref(), Some(PAGE_MAX)).await.unwrap();
        assert!(!page.truncated);
        found |= page.conversations.iter().any(|row| row.id == chat && row.head == head);
        if !page.more {
            assert!(found, "sync lists the conversation with its head");
            return page.token;
        }
        since = Some(page.token);
    }
}
