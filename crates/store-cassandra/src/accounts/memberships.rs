//! What a user has set for conversations, whether these are in the inbox, and where they stand there.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use godwit_domain::model::{AccountChange, AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::StoreError;
use godwit_domain::projection::Unlisting;
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use super::queue::Before;
use super::rows::{APART, Key, MEMBERSHIP, MembershipBody, Present};
use super::snapshot::Want;
use super::txn::{Stop, Txn, decode};
use super::{Accounts, log};
use crate::values::int;

/// Conversations that one query asks for. ScyllaDB takes no more.
const ASKED_AT_ONCE_MAX: usize = 100;

/// What an account says of a conversation. The default is that of one it says nothing of.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Membership {
    pub(crate) listed: bool,
    /// It is fanned out on read: its rows are not in the inbox but by themselves.
    pub(crate) apart: bool,
    pub(crate) settings: Settings,
    pub(crate) place: Option<Place>,
    /// The revision of the account that listed it or changed its settings last.
    pub(crate) revision: u64,
    /// The last entry of its log that has put it into the inbox or taken it out. What follows from earlier ones is late.
    pub(crate) through: Seq,
}

/// Where a conversation stands in the ordered part of the inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) section: Section,
    pub(crate) at: Timestamp,
    /// The revision of the account that put it there.
    pub(crate) version: u64,
}

/// Conversations that are listed together: pinned ones and archived ones are lists of their own.
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

/// A conversation that is to be given a place.
#[derive(Debug, Clone)]
pub(crate) struct PlaceChange {
    pub(crate) conversation: ConversationId,
    /// It is placed only if this is what the account still says of it.
    pub(crate) seen: Membership,
    pub(crate) section: Section,
    pub(crate) at: Timestamp,
}

/// How a conversation comes into an inbox.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listing {
    pub(crate) conversation: ConversationId,
    /// Of the note.
    pub(crate) at: Timestamp,
    /// The entry that it follows from.
    pub(crate) through: Seq,
    /// The place of what was last shown.
    pub(crate) shown: Seq,
    pub(crate) apart: bool,
    /// Because the user became a member, and not because something was shown.
    pub(crate) joined: bool,
}

/// A conversation that went from its place, with this revision of the account.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Displaced {
    pub(crate) place: Option<Place>,
    pub(crate) revision: u64,
}

impl Accounts {
    /// What the account says of these conversations. Those that it says nothing of are missing.
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

    /// Lists a conversation and writes the note, unless it is listed. `before` is called with the membership's new
    /// revision, and does its work before the membership has it; again if the attempt fails.
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
        let change = AccountChange::ConversationListed(id);
        let note = AccountNote { user_id: user, at: listing.at, change };
        let run = move |txn: &mut Txn<'_>| list(txn, listing, &note);
        let before = Some(boxed(before));
        self.writer.write_after("list a conversation", user, wants(id, &note), before, run).await
    }

    /// Takes a conversation out of the inbox, with its settings, and writes the note, unless that was done.
    pub(crate) async fn unlist(
        &self,
        id: ConversationId,
        at: Timestamp,
        unlisting: Unlisting,
    ) -> Result<Option<(AccountEntry, Displaced)>, StoreError> {
        let Unlisting { user_id: user, seq: through, reason } = unlisting;
        let note = AccountNote { user_id: user, at, change: AccountChange::ConversationGone(id, reason) };
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
            let displaced = Displaced { place: membership.place, revision };
            Ok(Some((log::write(txn, &note)?, displaced)))
        };
        self.writer.write("take a conversation away", user, wants(id, &note), run).await
    }

    /// From now on the conversation is fanned out on read.
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
        self.writer.write("set a conversation apart", user, [Want::Row(Key::membership(id))], run).await
    }

    /// Moves what was cleared forward and writes the note. If it hides the conversation, this is not in the inbox any more.
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
            membership.settings.cleared = membership.settings.cleared.max(cleared);
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

    /// Changes the settings and writes the note; `before` as in [`list`](Self::list).
    pub(crate) async fn change_settings<Done>(
        &self,
        user: UserId,
        conversation: ConversationId,
        change: SettingsChange,
        note: AccountNote,
        before: impl Fn(u64) -> Done + Send + 'static,
    ) -> Result<(Settings, AccountEntry), StoreError>
    where
        Done: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let run = move |txn: &mut Txn<'_>| {
            let membership = membership(txn, conversation)?;
            let settings = membership.settings.clone().changed_by(change.clone());
            let changed = Membership { settings: settings.clone(), revision: txn.revision(), ..membership };
            put(txn, conversation, &changed);
            Ok((settings, log::write(txn, &note)?))
        };
        let before = Some(boxed(before));
        self.writer.write_after("change settings", user, wants(conversation, &note), before, run).await
    }

    /// Gives conversations new places, each if its membership is what was seen. Gives back the revision of the account that
    /// did it, and the places as they are now of those that were placed.
    pub(crate) async fn place(
        &self,
        user: UserId,
        changes: Vec<PlaceChange>,
    ) -> Result<(u64, Vec<Option<Place>>), StoreError> {
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
    // What is said of an entry that the member has cleared is late too; but who joined again has cleared nothing.
    let is_cleared = before.settings.cleared > Seq::ZERO && before.settings.cleared >= shown;
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

fn place(txn: &mut Txn<'_>, change: &PlaceChange) -> Result<Option<Place>, Stop> {
    if membership(txn, change.conversation)? != change.seen {
        return Ok(None);
    }
    let place = Place { section: change.section, at: change.at, version: txn.revision() };
    put(txn, change.conversation, &Membership { place: Some(place), ..change.seen.clone() });
    Ok(Some(place))
}

fn membership(txn: &mut Txn<'_>, conversation: ConversationId) -> Result<Membership, Stop> {
    let body: Option<MembershipBody> = txn.get(Key::membership(conversation))?;
    Ok(body.map(Membership::from).unwrap_or_default())
}

fn put(txn: &mut Txn<'_>, conversation: ConversationId, membership: &Membership) {
    txn.put(Key::membership(conversation), &MembershipBody::from(membership));
}

fn wants(conversation: ConversationId, note: &AccountNote) -> [Want; 2] {
    [Want::Row(Key::membership(conversation)), log::wants(note)]
}

fn boxed<Done>(before: impl Fn(u64) -> Done + Send + 'static) -> Before
where
    Done: Future<Output = Result<(), StoreError>> + Send + 'static,
{
    Box::new(move |revision| Box::pin(before(revision)))
}
