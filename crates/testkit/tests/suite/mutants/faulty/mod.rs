//! A store with exactly one fault.
//!
//! - here: the faults, and the macro that implements a port on top of the correct store
//! - [`accounts`], [`conversations`], [`inbox`], [`personal`]: the ports

mod accounts;
mod conversations;
mod inbox;
mod personal;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use godwit_domain::model::{ClientId, Cursor};
use godwit_domain::ports::{Store, StoreError};
use godwit_domain::snowflake::IdGenerator;
use godwit_protocol::{ConversationId, Timestamp, UserId};
use godwit_testkit::ModelStore;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    HandleIsTakenTwice,
    RefusedUpdateWritesNote,
    SearchRepeatsUsers,
    EveryRotationWins,
    BlocksAreMutual,
    ReopeningReportsCreation,
    IdempotencyKeysAreIgnored,
    AppendIgnoresTheHead,
    AppendChecksHeadSeparately,
    RefusedAppendLeavesClientIds,
    EntriesBeginTooEarly,
    HistoryCountsHiddenEntries,
    SentAsForgetsOldMessages,
    SeqAtSkipsEqualTimes,
    EditsAreNotErased,
    MentionsAreDropped,
    ChangedMembersLoseTheirCursor,
    RemovedReactionsStay,
    RepliesRepeatOnTheNextPage,
    RevokedInvitesStillWork,
    ExpiriesStayDue,
    CursorsGoBack,
    ReadMovesLeaveNoNote,
    ReceiptsAreOfTheNextEntry,
    InboxLosesARowBetweenPages,
    InboxListsPinnedConversations,
    ChangedSinceSkipsTheFloor,
    ChangesWithoutActivityAreNotListed,
    MovedCursorsAreNotListed,
    ChangesRepeatOnTheNextPage,
    SettingsAreReplaced,
    GoneForTheWrongReason,
    RelistedAtItsOldPosition,
    ClearingHidesLaterMessages,
    ClearedIsNeverRelisted,
    CrossingDuplicatesRows,
    CrossingSkipsAMember,
    LargeConversationsLoadMembers,
    ConcealedEntriesReappear,
    OnlyOneHiderIsFound,
    StarsAreUnbounded,
    EveryClaimWins,
    ClaimsCompareOnlyTheStage,
    AccountLogLosesAnEntry,
    AccountLogHidesTruncation,
}

#[derive(Debug)]
pub(super) struct Faulty {
    right: ModelStore,
    fault: Fault,
    /// Client ids that refused appends have left behind.
    left_behind: Mutex<BTreeSet<(UserId, ClientId)>>,
    /// The last move of each cursor, forward or not.
    moved: Mutex<BTreeMap<(ConversationId, UserId), Cursor>>,
    /// When members were last told about a moved cursor.
    told: Mutex<BTreeMap<ConversationId, Timestamp>>,
    /// The last positions of conversations that have left an inbox.
    old_places: Mutex<BTreeMap<(UserId, ConversationId), Timestamp>>,
}

impl Faulty {
    pub(super) fn new(right: ModelStore, fault: Fault) -> Self {
        Self {
            right,
            fault,
            left_behind: Mutex::default(),
            moved: Mutex::default(),
            told: Mutex::default(),
            old_places: Mutex::default(),
        }
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault == fault
    }
}

/// Implements a port. Methods with a body may have a fault; the others call the correct store.
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
use port;

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
