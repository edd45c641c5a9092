//! A store that does one thing wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use godwit_domain::model::{
    AccountEntry, AccountNote, ClientId, ConversationState, Cursor, Device, Entry, Handle, SearchPrefix,
    Settings, SettingsChange, Subject, User, UserPair,
};
use godwit_domain::ports::{
    ActivityPosition, Append, AppendOutcome, BlockOutcome, BlockStore, ConversationStore, CreateDevice,
    CreateUser, CursorMove, DeviceStore, InboxPosition, InboxRow, InboxStore, MessageOrder, NewDirect,
    OpenedDirect, ReceiptTimes, Rotation, SeqRange, Store, StoreError, UpdateUser, UserChange, UserStore,
};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::{ConversationId, DeviceId, MessageId, Seq, Timestamp, UserId};
use godwit_testkit::ModelStore;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    HandleIsTakenTwice,
    RefusedUpdateWritesItsNote,
    SearchRepeatsUsers,
    EveryRotationWins,
    BlocksHaveNoDirection,
    OpeningAgainSaysItWasMade,
    AppendIgnoresTheHead,
    AppendLooksBeforeItWrites,
    RefusedAppendLeavesClientIds,
    EntriesBeginTooEarly,
    MessagesCountOtherEntries,
    SentAsForgets,
    SeqAtSkipsItsTime,
    CursorsGoBack,
    ReadMarksAreNotNoted,
    ReceiptsAreTheNextOnes,
    InboxLosesARowBetweenPages,
    InboxForgetsPins,
    ActiveSinceSkipsTheFloor,
    SettingsAreReplaced,
    AccountLogLosesAnEntry,
    AccountLogHidesItsHoles,
}

#[derive(Debug)]
pub(super) struct Faulty {
    right: ModelStore,
    fault: Fault,
    /// What refused appends left behind.
    left_behind: Mutex<BTreeSet<(UserId, ClientId)>>,
    /// Where cursors were moved last, forward or not.
    moved: Mutex<BTreeMap<(ConversationId, UserId), Cursor>>,
}

impl Faulty {
    pub(super) fn new(right: ModelStore, fault: Fault) -> Self {
        Self { right, fault, left_behind: Mutex::default(), moved: Mutex::default() }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

/// Implements a port: methods with a body are where a fault may be, the others ask the store that is right.
macro_rules! port {
    (impl $port:ident { $($methods:tt)* }) => {
        port!(@ $port [] $($methods)*);
    };
    (@ $port:ident [$($done:tt)*]) => {
        #[async_trait]
        impl $port for Faulty {
            $($done)*
        }
    };
    (@ $port:ident [$($done:tt)*] async fn $name:ident(&$self:ident $(, $arg:ident: $ty:ty)*) -> $answer:ty; $($rest:tt)*) => {
        port!(@ $port [$($done)* async fn $name(&$self $(, $arg: $ty)*) -> Result<$answer, StoreError> {
            $self.right.$name($($arg),*).await
        }] $($rest)*);
    };
    (@ $port:ident [$($done:tt)*] async fn $name:ident(&$self:ident $(, $arg:ident: $ty:ty)*) -> $answer:ty $body:block $($rest:tt)*) => {
        port!(@ $port [$($done)* async fn $name(&$self $(, $arg: $ty)*) -> Result<$answer, StoreError> $body] $($rest)*);
    };
}

port! { impl UserStore {
    async fn create_user(&self, user: User) -> CreateUser {
        match self.right.create_user(user).await? {
            CreateUser::HandleTaken if self.has(Fault::HandleIsTakenTwice) => Ok(CreateUser::Created),
            outcome => Ok(outcome),
        }
    }
    async fn user(&self, id: UserId) -> Option<User>;
    async fn users(&self, ids: &[UserId]) -> Vec<User>;
    async fn user_by_handle(&self, handle: &Handle) -> Option<User>;
    async fn user_by_subject(&self, subject: &Subject) -> Option<User>;
    async fn update_user(&self, id: UserId, change: UserChange, note: Option<AccountNote>) -> UpdateUser {
        let outcome = self.right.update_user(id, change, note).await?;
        if outcome == UpdateUser::HandleTaken && self.has(Fault::RefusedUpdateWritesItsNote) {
            self.right.update_user(id, UserChange::default(), note).await?;
        }
        Ok(outcome)
    }
    async fn search_users(&self, prefix: &SearchPrefix, after: Option<UserId>, limit: usize) -> Vec<User> {
        let mut found = self.right.search_users(prefix, after, limit).await?;
        if self.has(Fault::SearchRepeatsUsers) && found.len() < limit {
            found.extend(found.last().cloned());
        }
        Ok(found)
    }
    async fn list_users(&self, after: Option<UserId>, limit: usize) -> Vec<User>;
}}

port! { impl DeviceStore {
    async fn create_device(&self, device: Device, note: AccountNote, devices_max: usize) -> CreateDevice;
    async fn device(&self, id: DeviceId) -> Option<Device>;
    async fn devices_of(&self, user: UserId) -> Vec<Device>;
    async fn rotate_session(&self, id: DeviceId, generation: u32, expires_at: Timestamp, now: Timestamp) -> Rotation {
        match self.right.rotate_session(id, generation, expires_at, now).await? {
            Rotation::Reused(device) if self.has(Fault::EveryRotationWins) => Ok(Rotation::Rotated(device)),
            outcome => Ok(outcome),
        }
    }
    async fn remove_device(&self, id: DeviceId, note: AccountNote) -> Option<AccountEntry>;
}}

port! { impl BlockStore {
    async fn block(&self, user: UserId, blocked: UserId, note: AccountNote, blocks_max: usize) -> BlockOutcome;
    async fn unblock(&self, user: UserId, blocked: UserId, note: AccountNote) -> Option<AccountEntry>;
    async fn blocks_between(&self, a: UserId, b: UserId) -> (bool, bool) {
        let (forward, back) = self.right.blocks_between(a, b).await?;
        let either = forward || back;
        Ok(if self.has(Fault::BlocksHaveNoDirection) { (either, either) } else { (forward, back) })
    }
    async fn blocked_by(&self, user: UserId, after: Option<UserId>, limit: usize) -> Vec<UserId>;
}}

port! { impl ConversationStore {
    async fn open_direct(&self, pair: UserPair, new: NewDirect) -> OpenedDirect {
        let opened = self.right.open_direct(pair, new.clone()).await?;
        Ok(match opened.made {
            None if self.has(Fault::OpeningAgainSaysItWasMade) => OpenedDirect { made: Some(Vec::new()), ..opened },
            _ => opened,
        })
    }
    async fn direct_of(&self, pair: UserPair) -> Option<ConversationId>;
    async fn load(&self, id: ConversationId) -> Option<ConversationState> {
        let mut state = self.right.load(id).await?;
        if let Some(state) = &mut state && self.has(Fault::CursorsGoBack) {
            let moved = lock(&self.moved);
            for member in &mut state.members {
                member.cursor = moved.get(&(id, member.user_id)).copied().unwrap_or(member.cursor);
            }
        }
        Ok(state)
    }
    async fn append(&self, append: Append) -> AppendOutcome {
        let head = async || self.right.load(append.conversation).await.map(|s| s.map_or(Seq::ZERO, |s| s.head.seq));
        let mut forced = append.clone();
        if self.has(Fault::AppendIgnoresTheHead) {
            forced.expected_head = head().await?;
        }
        if self.has(Fault::AppendLooksBeforeItWrites) && head().await? == append.expected_head {
            // Long enough for another to look too.
            tokio::time::sleep(Duration::from_millis(50)).await;
            forced.expected_head = head().await?;
        }
        let outcome = self.right.append(forced).await?;
        if outcome == AppendOutcome::HeadMoved && self.has(Fault::RefusedAppendLeavesClientIds) {
            let messages = append.entries.iter().filter_map(Entry::message);
            lock(&self.left_behind).extend(messages.map(|m| (m.sender_id, m.client_id.clone())));
        }
        Ok(outcome)
    }
    async fn entries(&self, id: ConversationId, after: Seq, limit: usize) -> Vec<Entry> {
        let too_early = self.has(Fault::EntriesBeginTooEarly);
        let after = if too_early { Seq::new(after.get().saturating_sub(1)) } else { after };
        self.right.entries(id, after, limit).await
    }
    async fn entry(&self, id: ConversationId, seq: Seq) -> Option<Entry>;
    async fn messages(&self, id: ConversationId, range: SeqRange, order: MessageOrder, limit: usize) -> Vec<Entry> {
        if self.has(Fault::MessagesCountOtherEntries) && order == MessageOrder::OldestFirst {
            let mut page = self.right.entries(id, range.after, limit).await?;
            page.retain(|entry| entry.seq < range.before && entry.message().is_some());
            return Ok(page);
        }
        self.right.messages(id, range, order, limit).await
    }
    async fn locate(&self, message: MessageId) -> Option<(ConversationId, Seq)>;
    async fn sent_as(&self, id: ConversationId, sender: UserId, client_id: &ClientId) -> Option<Seq> {
        let sent = self.right.sent_as(id, sender, client_id).await?;
        let left_behind = lock(&self.left_behind).contains(&(sender, client_id.clone()));
        if sent.is_none() && left_behind {
            return Ok(Some(Seq::new(1)));
        }
        let head = self.right.load(id).await?.map_or(0, |state| state.head.seq.get());
        let is_long_ago = |seq: &Seq| seq.get() + 3 < head;
        Ok(sent.filter(|seq| !(self.has(Fault::SentAsForgets) && is_long_ago(seq))))
    }
    async fn seq_at(&self, id: ConversationId, time: Timestamp) -> Seq {
        let skips = self.has(Fault::SeqAtSkipsItsTime);
        self.right.seq_at(id, if skips { time.plus_millis(1) } else { time }).await
    }
    async fn move_cursors(&self, moves: &[CursorMove]) -> Vec<(UserId, AccountEntry)> {
        let moved = moves.iter().map(|m| ((m.conversation, m.user_id), m.cursor));
        lock(&self.moved).extend(moved);
        let notes = self.right.move_cursors(moves).await?;
        Ok(if self.has(Fault::ReadMarksAreNotNoted) { Vec::new() } else { notes })
    }
    async fn receipts(&self, id: ConversationId, seq: Seq, users: &[UserId]) -> Vec<ReceiptTimes> {
        let seq = if self.has(Fault::ReceiptsAreTheNextOnes) { seq.next() } else { seq };
        self.right.receipts(id, seq, users).await
    }
}}

port! { impl InboxStore {
    async fn inbox(&self, user: UserId, archived: bool, after: Option<InboxPosition>, limit: usize) -> Vec<InboxRow> {
        let loses_one = self.has(Fault::InboxLosesARowBetweenPages) && after.is_some();
        let mut rows = self.right.inbox(user, archived, after, limit + usize::from(loses_one)).await?;
        if loses_one && !rows.is_empty() {
            rows.remove(0);
        }
        if self.has(Fault::InboxForgetsPins) {
            rows.sort_by_key(|row| std::cmp::Reverse(row.activity()));
        }
        Ok(rows)
    }
    async fn active_since(&self, user: UserId, floor: Timestamp, after: Option<ActivityPosition>, limit: usize) -> Vec<InboxRow> {
        let skips = self.has(Fault::ActiveSinceSkipsTheFloor);
        self.right.active_since(user, if skips { floor.plus_millis(1) } else { floor }, after, limit).await
    }
    async fn settings(&self, user: UserId, conversation: ConversationId) -> Settings;
    async fn change_settings(&self, user: UserId, conversation: ConversationId, change: SettingsChange, note: AccountNote) -> (Settings, AccountEntry) {
        let replacement = SettingsChange {
            pinned: change.pinned.or(Some(false)),
            archived: change.archived.or(Some(false)),
            muted_until: change.muted_until.or(Some(None)),
        };
        let change = if self.has(Fault::SettingsAreReplaced) { replacement } else { change };
        self.right.change_settings(user, conversation, change, note).await
    }
    async fn account_log(&self, user: UserId, after: u64, limit: usize) -> Option<Vec<AccountEntry>> {
        let mut page = self.right.account_log(user, after, limit).await?;
        if let Some(page) = &mut page && self.has(Fault::AccountLogLosesAnEntry) && after > 0 && !page.is_empty() {
            page.remove(0);
        }
        Ok(if self.has(Fault::AccountLogHidesItsHoles) { page.or(Some(Vec::new())) } else { page })
    }
    async fn account_head(&self, user: UserId) -> u64;
}}

#[async_trait]
impl Store for Faulty {
    fn ids(&self) -> &IdGenerator {
        self.right.ids()
    }

    async fn signing_key(&self, offered: [u8; 32]) -> Result<[u8; 32], StoreError> {
        self.right.signing_key(offered).await
    }

    fn health(&self) -> Result<(), StoreError> {
        self.right.health()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
