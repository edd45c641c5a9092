//! Catching up after a disconnect: rounds of `sync`.
//!
//! A round reads all changes since the token, page by page. Its last page contains the next token. The session adopts that
//! token only after it has read every conversation that the round found behind: a session that resumed from the new token
//! earlier would not learn of them again. A round that is interrupted starts again.

use std::collections::{HashMap, VecDeque};

use godwit_protocol::socket::CursorEvent;
use godwit_protocol::sync::{AccountChange, AccountEntry, MovedCursors, SyncPage};
use godwit_protocol::{ConversationId, Seq};

use super::logs::Logs;
use super::queue::{Item, Queue};
use super::update::Update;

/// Account entries that arrive live during a round. If there are more, another round follows.
const ACCOUNT_ENTRIES_HELD_MAX: usize = 256;

pub(super) struct CatchUp {
    /// The application has received everything before this token.
    token: Option<String>,
    account_seq: u64,
    round: Round,
    /// The token of the last round, until everything that the round found has been read.
    next_token: Option<String>,
    /// The heads that the last round found. The session reads at least up to these.
    awaited: HashMap<ConversationId, Seq>,
    /// Account entries that arrived during a round. They are newer than those of the round, so they are delivered after it.
    held: VecDeque<AccountEntry>,
    /// Another round follows this one.
    repeat: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Round {
    None,
    /// The next page to request is the one after this token.
    Page(Option<String>),
    UnderWay(Option<String>),
}

impl CatchUp {
    pub(super) fn new(token: Option<String>, account_seq: u64) -> Self {
        Self {
            token,
            account_seq,
            round: Round::None,
            next_token: None,
            awaited: HashMap::new(),
            held: VecDeque::new(),
            repeat: false,
        }
    }

    /// Starts a round, unless one is running.
    pub(super) fn begin(&mut self) {
        if self.round == Round::None {
            self.begin_anew();
        }
    }

    /// Starts a round. If one is running, it may have read past the new change already, so another one follows.
    pub(super) fn begin_or_repeat(&mut self) {
        self.repeat |= self.round != Round::None;
        self.begin();
    }

    /// Starts a new round on a new connection, whatever the state of the previous one.
    pub(super) fn begin_anew(&mut self) {
        self.round = Round::Page(self.token.clone());
        self.next_token = None;
        self.awaited.clear();
        self.held.clear();
        self.repeat = false;
    }

    pub(super) fn wants_page(&self) -> bool {
        matches!(self.round, Round::Page(_))
    }

    /// The token of the page to request. The caller must report the outcome.
    pub(super) fn next_page(&mut self) -> Option<Option<String>> {
        match std::mem::replace(&mut self.round, Round::None) {
            Round::Page(since) => {
                self.round = Round::UnderWay(since.clone());
                Some(since)
            }
            other => {
                self.round = other;
                None
            }
        }
    }

    pub(super) fn page_failed(&mut self) {
        if let Round::UnderWay(since) = &mut self.round {
            self.round = Round::Page(since.take());
        }
    }

    /// The server refuses the token of the page.
    pub(super) fn page_refused(&mut self, logs: &mut Logs, queue: &Queue) {
        match &self.round {
            Round::UnderWay(since) if since.is_some() && *since == self.token => self.lost_track(logs, queue),
            // The refused token is from the middle of the round. The one at its start may still be valid.
            _ => self.begin_anew(),
        }
    }

    /// The token is invalid: everything is loaded again.
    fn lost_track(&mut self, logs: &mut Logs, queue: &Queue) {
        queue.update(Update::ResetAll);
        logs.forget_all();
        self.token = None;
        self.begin_anew();
    }

    pub(super) fn page(&mut self, page: SyncPage, logs: &mut Logs, queue: &Queue) {
        // A first sync cannot be incomplete. Without this check, a server that claims it would be asked forever.
        let since_token = matches!(self.round, Round::UnderWay(Some(_)));
        if page.truncated && since_token {
            return self.lost_track(logs, queue);
        }
        // Handles departures first: a conversation that is listed too has come back since.
        for gone in page.gone {
            logs.forget(gone.conversation_id);
            self.awaited.remove(&gone.conversation_id);
            queue.update(Update::Gone(gone));
        }
        for conversation in page.conversations {
            let (id, head) = (conversation.id, conversation.head);
            if let Some(begins) = logs.list(id, head, conversation.me.history_from) {
                queue.push(Item::Begin(id, begins));
            }
            queue.update(Update::Conversation(Box::new(conversation)));
            if logs.seen(id).is_some_and(|seen| seen < head) {
                self.awaited.insert(id, head);
            }
        }
        for MovedCursors { conversation_id, cursors } in page.cursors {
            for cursor in cursors {
                queue.update(Update::Cursor(CursorEvent { conversation_id, cursor }));
            }
        }
        let mut account = page.account;
        account.sort_unstable_by_key(|entry| entry.seq);
        account.into_iter().for_each(|entry| self.give(entry, logs, queue));
        if page.more {
            self.round = Round::Page(Some(page.token));
        } else {
            self.finish(page.token, logs, queue);
        }
    }

    /// An account entry has arrived live.
    pub(super) fn account(&mut self, entry: AccountEntry, logs: &mut Logs, queue: &Queue) {
        if self.round == Round::None {
            if queue.has_room() {
                return self.give(entry, logs, queue);
            }
            // Dropped: the round that starts now delivers it, once there is room.
            return self.begin();
        }
        // The order of the departure and of the round's reads is unknown, so another round follows.
        let is_unclear = matches!(entry.change, AccountChange::ConversationGone { .. });
        if self.held.len() < ACCOUNT_ENTRIES_HELD_MAX && !is_unclear {
            self.held.push_back(entry);
        } else {
            self.repeat = true;
        }
    }

    /// A conversation was read up to this entry.
    pub(super) fn progress(&mut self, id: ConversationId, logs: &Logs, queue: &Queue) {
        let Some(awaited) = self.awaited.get(&id) else { return };
        if logs.seen(id).is_none_or(|seen| seen >= *awaited) {
            self.awaited.remove(&id);
            self.commit(queue);
        }
    }

    /// The conversation was reset or is gone, so the round no longer waits for it.
    pub(super) fn give_up(&mut self, id: ConversationId, queue: &Queue) {
        if self.awaited.remove(&id).is_some() {
            self.commit(queue);
        }
    }

    fn finish(&mut self, token: String, logs: &mut Logs, queue: &Queue) {
        logs.listed_all();
        self.round = Round::None;
        if self.repeat {
            return self.begin_anew();
        }
        for entry in std::mem::take(&mut self.held) {
            self.give(entry, logs, queue);
        }
        self.next_token = Some(token);
        self.commit(queue);
    }

    fn commit(&mut self, queue: &Queue) {
        if !self.awaited.is_empty() {
            return;
        }
        if let Some(token) = self.next_token.take() {
            self.token = Some(token.clone());
            queue.push(Item::Token(token));
            queue.update(Update::CaughtUp);
        }
    }

    fn give(&mut self, entry: AccountEntry, logs: &mut Logs, queue: &Queue) {
        if entry.seq <= self.account_seq {
            return;
        }
        self.account_seq = entry.seq;
        if let AccountChange::ConversationGone { conversation_id, .. } = &entry.change {
            let id = *conversation_id;
            logs.forget(id);
            queue.update(Update::Account(entry));
            return self.give_up(id, queue);
        }
        queue.update(Update::Account(entry));
    }
}
