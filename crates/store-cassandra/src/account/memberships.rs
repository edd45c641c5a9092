//! Memberships: a user's settings for conversations, whether a conversation is in the inbox, and its position
//! there.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join_all;
use godwit_domain::model::{AccountEntry, AccountNote, Settings};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::Unlisting;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::queue::Before;
use super::rows::{APART, Key, MEMBERSHIP, MembershipBody, Present};
use super::snapshot::Want;
use super::txn::{Stop, Txn, decode};
use super::{Accounts, log};
use crate::values::int;

/// Conversations in one query. ScyllaDB accepts at most 100.
const ASKED_AT_ONCE_MAX: usize = 100;

/// What an account stores about one conversation. The default stands for a conversation without a row.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Membership {
    pub(crate) listed: bool,
    /// The conversation is fanned out on read: it is not in the ordered inbox but in a list of its own.
    pub(crate) apart: bool,
    pub(crate) settings: Settings,
    pub(crate) place: Option<InboxPosition>,
    /// The revision of the account that last listed the conversation or changed its settings.
    pub(crate) revision: u64,
    /// The last entry of the conversation's log that put it into the inbox or took it out. Effects of earlier
    /// entries come too late and are ignored.
    pub(crate) through: Seq,
}

/// The position of a conversation in the ordered part of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct InboxPosition {
    pub(crate) section: Section,
    pub(crate) at: Timestamp,
    /// The revision of the account that set this position.
    pub(crate) version: u64,
}

/// Conversations that are listed together. Pinned and archived conversations have lists of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Section(pub(super) u8);

impl Section {
    const ARCHIVED: u8 = 1;
    const PINNED: u8 = 2;

    pub(crate) const ALL: [Self; 4] =
        [Self(0), Self(Self::ARCHIVED), Self(Self::PINNED), Self(Self::ARCHIVED | Self::PINNED)];
    pub(crate) const ALL_PINNED: [Self; 2] = [Self(Self::PINNED), Self(Self::ARCHIVED | Self::PINNED)];

    pub(crate) const fn unpinned(archived: bool) -> Self {
        Self(if archived { Self::ARCHIVED } else { 0 })
    }

    pub(crate) const fn of(settings: &Settings) -> Self {
        let pinned = if settings.pin.is_some() { Self::PINNED } else { 0 };
        Self(Self::unpinned(settings.archived).0 | pinned)
    }

    pub(crate) const fn number(self) -> i8 {
        self.0.cast_signed()
    }
}

/// A conversation that gets a position.
#[derive(Debug, Clone)]
pub(crate) struct PositionChange {
    pub(crate) conversation: ConversationId,
    /// A compare-and-set: the position is set only if the account still has this membership.
    pub(crate) seen: Membership,
    pub(crate) section: Section,
    pub(crate) at: Timestamp,
}

/// A conversation that enters an inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    pub(crate) conversation: ConversationId,
    /// The time of the note.
    pub(crate) at: Timestamp,
    /// The entry that this listing follows from.
    pub(crate) through: Seq,
    /// The seq of the entry last shown in the conversation.
    pub(crate) shown: Seq,
    pub(crate) apart: bool,
    /// Whether the user became a member. Otherwise an entry was shown to a member who did not have the
    /// conversation in the inbox.
    pub(crate) joined: bool,
}

/// A conversation that lost its position at this revision of the account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Displaced {
    pub(crate) place: Option<InboxPosition>,
    pub(crate) revision: u64,
}

impl Accounts {
    /// The memberships of these conversations. A conversation without a row is missing from the map.
    pub(crate) async fn memberships(
        &self,
        user: UserId,
        conversations: &[ConversationId],
    ) -> Result<HashMap<ConversationId, Membership>, StoreError> {
        let parts = conversations.chunks(ASKED_AT_ONCE_MAX).map(|part| {
            let ids: Vec<i64> = part.iter().map(|id| int(id.get())).collect();
            let values = (int(user.get()), MEMBERSHIP, ids);
            self.cql.rows::<(i64, String)>("read memberships", &self.statements.bodies_of, values)
        });
        let rows = try_join_all(parts).await?.into_iter().flatten();
        let membership = |(id, body): (i64, String)| {
            let body: MembershipBody = decode(user, Key { kind: MEMBERSHIP, id }, &body)?;
            Ok((ConversationId::new(id.cast_unsigned()), body.into()))
        };
        rows.map(membership).collect()
    }

    /// The conversations of the user that are fanned out on read.
    pub(crate) async fn apart(&self, user: UserId) -> Result<Vec<ConversationId>, StoreError> {
        let rows = self.rows_of(user, APART).await?;
        Ok(rows.into_iter().map(|(key, _)| ConversationId::new(key.id.cast_unsigned())).collect())
    }

    /// The number of pinned conversations.
    pub(crate) async fn pinned(&self, user: UserId) -> Result<usize, StoreError> {
        let pins: Option<BTreeMap<ConversationId, i64>> = self.row(user, Key::PINS).await?;
        Ok(pins.map_or(0, |pins| pins.len()))
    }

    /// Lists a conversation and writes the note, unless it is already listed. `before` is called with the new
    /// revision of the membership and completes before the membership is written. It is called again for every
    /// attempt.
    pub(crate) async fn list<Done>(
        &self,
        user: UserId,
        listing: Listing,
        before: impl Fn(u64) -> Done + Send + 'static,
    ) -> Result<Option<AccountEntry>, StoreError>
    where
        Done: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let id = listing.conversation;
        let note = AccountNote::listed(user, id, listing.at);
        let run = move |txn: &mut Txn<'_>| list(txn, listing, &note);
        let before = Some(boxed(before));
        self.writer.write_after("list a conversation", user, wants(id, &note), before, run).await
    }

    /// Takes a conversation out of the inbox, removes its settings and writes the note, unless that has already
    /// happened.
    pub(crate) async fn unlist(
        &self,
        id: ConversationId,
        at: Timestamp,
        unlisting: Unlisting,
    ) -> Result<Option<(AccountEntry, Displaced)>, StoreError> {
        let Unlisting { user_id: user, seq: through, .. } = unlisting;
        let note = unlisting.note(id, at);
        let run = move |txn: &mut Txn<'_>| {
            let membership = membership(txn, id)?;
            if membership.through >= through {
                return Ok(None);
            }
            let revision = txn.revision();
            put(txn, id, &Membership { revision, through, ..Membership::default() });
            if membership.apart {
                txn.remove(Key::apart(id));
            }
            if membership.settings.pin.is_some() {
                let mut pins: BTreeMap<ConversationId, i64> = txn.get(Key::PINS)?.unwrap_or_default();
                pins.remove(&id);
                txn.put(Key::PINS, &pins);
            }
            let displaced = Displaced { place: membership.place, revision };
            Ok(Some((log::write(txn, &note)?, displaced)))
        };
        self.writer.write("remove a conversation from an inbox", user, wants(id, &note), run).await
    }

    /// Marks the conversation as fanned out on read, which it then stays.
    pub(crate) async fn cross(
        &self,
        user: UserId,
        id: ConversationId,
        through: Seq,
    ) -> Result<Option<Displaced>, StoreError> {
        let run = move |txn: &mut Txn<'_>| {
            let membership = membership(txn, id)?;
            if membership.through > through || membership.apart {
                return Ok(None);
            }
            let (place, revision) = (membership.place, txn.revision());
            let crossed =
                Membership { listed: true, apart: true, place: None, revision, through, ..membership };
            put(txn, id, &crossed);
            txn.put(Key::apart(id), &Present {});
            Ok(Some(Displaced { place, revision }))
        };
        self.writer
            .write("mark a conversation as large in an inbox", user, [Want::Row(Key::membership(id))], run)
            .await
    }

    /// Moves the cleared mark forward and writes the note. If `hides` is set, the conversation leaves the
    /// inbox.
    pub(crate) async fn clear(
        &self,
        user: UserId,
        id: ConversationId,
        cleared: Seq,
        hides: bool,
        note: AccountNote,
    ) -> Result<(AccountEntry, Displaced), StoreError> {
        let run = move |txn: &mut Txn<'_>| {
            let mut membership = membership(txn, id)?;
            let revision = txn.revision();
            membership.settings.clear(cleared);
            let mut place = None;
            if hides && !membership.apart {
                membership.listed = false;
                membership.revision = revision;
                place = membership.place.take();
            }
            put(txn, id, &membership);
            Ok((log::write(txn, &note)?, Displaced { place, revision }))
        };
        self.writer.write("clear a conversation", user, wants(id, &note), run).await
    }

    /// Sets positions, each only if the membership is still the one that was seen. Returns the revision of the
    /// account, and the new positions: `None` for a membership that has changed.
    pub(crate) async fn place(
        &self,
        user: UserId,
        changes: Vec<PositionChange>,
    ) -> Result<(u64, Vec<Option<InboxPosition>>), StoreError> {
        let wants: Vec<Want> =
            changes.iter().map(|change| Want::Row(Key::membership(change.conversation))).collect();
        let run = move |txn: &mut Txn<'_>| {
            let mut places = Vec::with_capacity(changes.len());
            for change in &changes {
                places.push(place(txn, change)?);
            }
            Ok((txn.revision(), places))
        };
        self.writer.write("place conversations", user, wants, run).await
    }
}

fn list(txn: &mut Txn<'_>, listing: Listing, note: &AccountNote) -> Result<Option<AccountEntry>, Stop> {
    let Listing { conversation: id, through, shown, apart, joined, .. } = listing;
    let before = membership(txn, id)?;
    // An entry that the member has cleared comes too late. A user who joined again has cleared nothing of what
    // follows.
    let is_cleared = before.settings.has_cleared(shown);
    let is_late = before.through > through || if joined { before.through == through } else { is_cleared };
    if is_late || (before.listed && !joined) {
        return Ok(None);
    }
    let was_listed = before.listed;
    let through = through.max(before.through);
    put(txn, id, &Membership { listed: true, apart, revision: txn.revision(), through, ..before });
    if apart {
        txn.put(Key::apart(id), &Present {});
    }
    if was_listed { Ok(None) } else { log::write(txn, note).map(Some) }
}

fn place(txn: &mut Txn<'_>, change: &PositionChange) -> Result<Option<InboxPosition>, Stop> {
    if membership(txn, change.conversation)? != change.seen {
        return Ok(None);
    }
    let place = InboxPosition { section: change.section, at: change.at, version: txn.revision() };
    put(txn, change.conversation, &Membership { place: Some(place), ..change.seen.clone() });
    Ok(Some(place))
}

pub(super) fn put_settings(
    txn: &mut Txn<'_>,
    conversation: ConversationId,
    settings: &Settings,
) -> Result<(), Stop> {
    let before = membership(txn, conversation)?;
    let changed = Membership { settings: settings.clone(), revision: txn.revision(), ..before };
    put(txn, conversation, &changed);
    Ok(())
}

pub(super) fn membership(txn: &mut Txn<'_>, conversation: ConversationId) -> Result<Membership, Stop> {
    let body: Option<MembershipBody> = txn.get(Key::membership(conversation))?;
    Ok(body.map(Membership::from).unwrap_or_default())
}

fn put(txn: &mut Txn<'_>, conversation: ConversationId, membership: &Membership) {
    txn.put(Key::membership(conversation), &MembershipBody::from(membership));
}

fn wants(conversation: ConversationId, note: &AccountNote) -> [Want; 2] {
    [Want::Row(Key::membership(conversation)), log::wants(note)]
}

fn boxed<T, Done>(before: impl Fn(u64) -> Done + Send + 'static) -> Before<T>
where
    Done: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    Box::new(move |_, revision| Box::pin(before(revision)))
}
