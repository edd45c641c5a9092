//! Opaque page cursors and sync tokens.
//!
//! A position is sealed for one list and one user: a cursor that a client has modified, or taken from another list, is
//! refused. It is signed and not encrypted, because it contains nothing that the user cannot see in its page.
//!
//! ```text
//! base64url( HMAC-SHA-256(list, of what, user, position)[..16] | position as postcard )
//! ```

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use godwit_domain::inbox::InboxPosition;
use godwit_domain::ports::ActivityPosition;
use godwit_domain::sync::SyncToken;
use godwit_protocol::{ConversationId, ErrorCode, MessageId, ScheduledId, Timestamp, UserId};
use hmac::{Hmac, Mac};
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::Sha256;

use crate::auth::SigningKey;
use crate::auth::keys::hmac_sha256;
use crate::problem::{ApiError, ApiResult};

/// Bytes of the signature that are kept: 128 bits cannot be guessed.
const TAG_BYTES: usize = 16;
/// The length limit of a sealed position, in characters. All valid ones are shorter.
const SEALED_CHARS_MAX: usize = 256;

/// The lists with pages, with the id of their owner if there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum List {
    Inbox,
    Archive,
    Search,
    Blocks,
    Sync,
    Members(ConversationId),
    Bans(ConversationId),
    Receipts(MessageId),
    Reactions(MessageId),
    Thread(MessageId),
    Stars,
    Edits(MessageId),
    Pins(ConversationId),
    Scheduled,
}

impl List {
    /// The list as it is signed. The numbers never change their meaning.
    const fn parts(self) -> (u8, u64) {
        match self {
            Self::Inbox => (1, 0),
            Self::Archive => (2, 0),
            Self::Search => (3, 0),
            Self::Blocks => (4, 0),
            Self::Sync => (5, 0),
            Self::Members(conversation) => (6, conversation.get()),
            Self::Receipts(message) => (7, message.get()),
            Self::Reactions(message) => (8, message.get()),
            Self::Thread(message) => (9, message.get()),
            Self::Stars => (10, 0),
            Self::Bans(conversation) => (14, conversation.get()),
            Self::Edits(message) => (11, message.get()),
            Self::Pins(conversation) => (12, conversation.get()),
            Self::Scheduled => (13, 0),
        }
    }
}

/// Makes positions opaque.
#[derive(Clone)]
pub struct Sealer {
    key: [u8; 32],
}

impl Sealer {
    pub fn new(signing_key: SigningKey) -> Self {
        Self { key: signing_key.derive("godwit page position") }
    }

    pub fn seal<P: Position>(&self, list: List, user: UserId, position: P) -> String {
        let mut payload = postcard::to_stdvec(&position.into_sealed()).unwrap_or_default();
        let mut sealed = self.tag(list, user, &payload).finalize().into_bytes()[..TAG_BYTES].to_vec();
        sealed.append(&mut payload);
        URL_SAFE_NO_PAD.encode(sealed)
    }

    pub fn open<P: Position>(&self, list: List, user: UserId, sealed: &str) -> ApiResult<P> {
        self.try_open(list, user, sealed).ok_or_else(|| ApiError::new(ErrorCode::InvalidCursor))
    }

    /// The cursor of the next page, if there is one.
    pub fn seal_next<P: Position>(&self, list: List, user: UserId, next: Option<P>) -> Option<String> {
        next.map(|position| self.seal(list, user, position))
    }

    /// The position of a cursor. Without a cursor, the start of the list.
    pub fn open_next<P: Position>(
        &self,
        list: List,
        user: UserId,
        asked: Option<&str>,
    ) -> ApiResult<Option<P>> {
        asked.map(|sealed| self.open(list, user, sealed)).transpose()
    }

    fn try_open<P: Position>(&self, list: List, user: UserId, sealed: &str) -> Option<P> {
        if sealed.len() > SEALED_CHARS_MAX {
            return None;
        }
        let bytes = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (tag, payload) = bytes.split_at_checked(TAG_BYTES)?;
        self.tag(list, user, payload).verify_truncated_left(tag).ok()?;
        postcard::from_bytes(payload).ok().map(P::from_sealed)
    }

    fn tag(&self, list: List, user: UserId, payload: &[u8]) -> Hmac<Sha256> {
        let mut mac = hmac_sha256(&self.key);
        let (number, of) = list.parts();
        mac.update(&[number]);
        mac.update(&of.to_be_bytes());
        mac.update(&user.get().to_be_bytes());
        mac.update(payload);
        mac
    }
}

impl fmt::Debug for Sealer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sealer(…)")
    }
}

/// A value that can be sealed. The sealed forms are separate from the domain's types, because old cursors must stay
/// readable.
pub trait Position: Sized {
    type Sealed: Serialize + DeserializeOwned;

    fn into_sealed(self) -> Self::Sealed;

    fn from_sealed(sealed: Self::Sealed) -> Self;
}

impl Position for UserId {
    type Sealed = u64;

    fn into_sealed(self) -> u64 {
        self.get()
    }

    fn from_sealed(sealed: u64) -> Self {
        Self::new(sealed)
    }
}

impl Position for MessageId {
    type Sealed = u64;

    fn into_sealed(self) -> u64 {
        self.get()
    }

    fn from_sealed(sealed: u64) -> Self {
        Self::new(sealed)
    }
}

/// The number of items to skip.
impl Position for u32 {
    type Sealed = Self;

    fn into_sealed(self) -> Self {
        self
    }

    fn from_sealed(sealed: Self) -> Self {
        sealed
    }
}

/// Milliseconds, conversation.
type SealedActivity = (i64, u64);

impl Position for ActivityPosition {
    type Sealed = SealedActivity;

    fn into_sealed(self) -> SealedActivity {
        (self.at.as_millis(), self.conversation.get())
    }

    fn from_sealed((at_ms, conversation): SealedActivity) -> Self {
        Self { at: Timestamp::from_millis(at_ms), conversation: ConversationId::new(conversation) }
    }
}

impl Position for InboxPosition {
    /// The number of pinned conversations to skip, or a position in the order.
    type Sealed = Result<SealedActivity, u32>;

    fn into_sealed(self) -> Self::Sealed {
        match self {
            Self::Pinned(before) => Err(before),
            Self::Ordered(position) => Ok(position.into_sealed()),
        }
    }

    fn from_sealed(sealed: Self::Sealed) -> Self {
        match sealed {
            Ok(position) => Self::Ordered(ActivityPosition::from_sealed(position)),
            Err(before) => Self::Pinned(before),
        }
    }
}

/// The due time in milliseconds, and the id.
impl Position for (Timestamp, ScheduledId) {
    type Sealed = (i64, u64);

    fn into_sealed(self) -> Self::Sealed {
        (self.0.as_millis(), self.1.get())
    }

    fn from_sealed((at_ms, id): Self::Sealed) -> Self {
        (Timestamp::from_millis(at_ms), ScheduledId::new(id))
    }
}

impl Position for SyncToken {
    /// Account `seq`, floor in milliseconds; for a sync of several pages, its start in milliseconds and its next position.
    type Sealed = (u64, i64, Option<(i64, SealedActivity)>);

    fn into_sealed(self) -> Self::Sealed {
        let under_way = self.under_way.map(|(began_at, next)| (began_at.as_millis(), next.into_sealed()));
        (self.account_seq, self.floor.as_millis(), under_way)
    }

    fn from_sealed((account_seq, floor_ms, under_way): Self::Sealed) -> Self {
        let under_way = under_way.map(|(began_at_ms, next)| {
            (Timestamp::from_millis(began_at_ms), ActivityPosition::from_sealed(next))
        });
        Self { account_seq, floor: Timestamp::from_millis(floor_ms), under_way }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADA: UserId = UserId::new(1 << 60);
    const BOB: UserId = UserId::new(1 << 61);

    fn sealer() -> Sealer {
        Sealer::new(SigningKey::new([7; 32]))
    }

    fn activity() -> ActivityPosition {
        ActivityPosition {
            at: Timestamp::from_millis(1_800_000_000_123),
            conversation: ConversationId::new(1 << 55),
        }
    }

    fn refused<P: Position>(result: ApiResult<P>) -> bool {
        result.is_err_and(|error| error.code() == ErrorCode::InvalidCursor)
    }

    #[test]
    fn a_sealed_position_can_be_opened() {
        let sealer = sealer();
        let sealed = sealer.seal(List::Inbox, ADA, activity());
        assert_eq!(sealer.open::<ActivityPosition>(List::Inbox, ADA, &sealed).unwrap(), activity());
        let token = SyncToken {
            account_seq: u64::MAX,
            floor: Timestamp::from_millis(i64::MAX),
            under_way: Some((Timestamp::from_millis(i64::MAX), activity())),
        };
        let sealed = sealer.seal(List::Sync, ADA, token);
        assert!(sealed.len() <= SEALED_CHARS_MAX);
        assert_eq!(sealer.open::<SyncToken>(List::Sync, ADA, &sealed).unwrap(), token);
    }

    #[test]
    fn a_position_of_another_list_user_or_server_does_not_open() {
        let sealer = sealer();
        let sealed = sealer.seal(List::Search, ADA, BOB);
        assert!(sealer.open::<UserId>(List::Search, ADA, &sealed).is_ok());
        assert!(refused(sealer.open::<UserId>(List::Blocks, ADA, &sealed)));
        assert!(refused(sealer.open::<UserId>(List::Search, BOB, &sealed)));
        let members = |id| List::Members(ConversationId::new(id));
        let of_one = sealer.seal(members(5), ADA, BOB);
        assert!(sealer.open::<UserId>(members(5), ADA, &of_one).is_ok());
        assert!(refused(sealer.open::<UserId>(members(6), ADA, &of_one)));
        let other = Sealer::new(SigningKey::new([8; 32]));
        assert!(refused(other.open::<UserId>(List::Search, ADA, &sealed)));
    }

    #[test]
    fn no_character_can_be_changed_added_or_left_out() {
        let sealer = sealer();
        let sealed = sealer.seal(List::Inbox, ADA, activity());
        for at in 0..sealed.len() {
            let mut changed = sealed.clone().into_bytes();
            changed[at] = if changed[at] == b'A' { b'B' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(refused(sealer.open::<ActivityPosition>(List::Inbox, ADA, &changed)), "at {at}");
            let shortened = &sealed[..at];
            assert!(refused(sealer.open::<ActivityPosition>(List::Inbox, ADA, shortened)), "up to {at}");
        }
        for wrong in [format!("{sealed}A"), format!("{sealed}="), "a".repeat(10_000), "ünïcode".into()] {
            assert!(refused(sealer.open::<ActivityPosition>(List::Inbox, ADA, &wrong)));
        }
    }
}
