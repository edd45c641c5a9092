//! What a user has set for conversations, and where these stand in the inbox.

use std::collections::HashMap;

use futures_util::future::try_join_all;
use godwit_domain::model::{AccountChange, AccountEntry, AccountNote, Settings, SettingsChange};
use godwit_domain::ports::StoreError;
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::queue::Before;
use super::rows::{Key, MEMBERSHIP, MembershipBody};
use super::snapshot::Want;
use super::txn::{Stop, Txn, decode};
use super::{Accounts, log};
use crate::values::int;

/// Conversations that one query asks for. ScyllaDB takes no more.
const ASKED_AT_ONCE_MAX: usize = 100;

/// What an account says of a conversation. The default is that of one it says nothing of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Membership {
    pub(crate) listed: bool,
    pub(crate) settings: Settings,
    pub(crate) place: Option<Place>,
    /// The revision of the account that listed it or changed its settings last.
    pub(crate) revision: u64,
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

    pub(crate) const fn of(settings: Settings) -> Self {
        let archived = if settings.archived { Self::ARCHIVED } else { 0 };
        let pinned = if settings.pinned { Self::PINNED } else { 0 };
        Self(archived | pinned)
    }

    pub(crate) const fn number(self) -> i8 {
        self.0.cast_signed()
    }
}

/// A conversation that is to be given a place.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PlaceChange {
    pub(crate) conversation: ConversationId,
    /// It is placed only if this is what the account still says of it.
    pub(crate) seen: Membership,
    pub(crate) section: Section,
    pub(crate) at: Timestamp,
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

    /// Lists a conversation and writes the note, unless it is listed. `before` is called with the membership's new
    /// revision, and does its work before the membership has it; again if the attempt fails.
    pub(crate) async fn list<Done>(
        &self,
        user: UserId,
        conversation: ConversationId,
        at: Timestamp,
        before: impl Fn(u64) -> Done + Send + 'static,
    ) -> Result<Option<AccountEntry>, StoreError>
    where
        Done: Future<Output = Result<(), StoreError>> + Send + 'static,
    {
        let note = AccountNote { user_id: user, at, change: AccountChange::ConversationListed(conversation) };
        let run = move |txn: &mut Txn<'_>| {
            let membership = membership(txn, conversation)?;
            if membership.listed {
                return Ok(None);
            }
            put(txn, conversation, Membership { listed: true, revision: txn.revision(), ..membership });
            log::write(txn, &note).map(Some)
        };
        let before = Some(boxed(before));
        self.writer.write_after("list a conversation", user, wants(conversation, &note), before, run).await
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
            let settings = membership.settings.changed_by(change);
            put(txn, conversation, Membership { settings, revision: txn.revision(), ..membership });
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

fn place(txn: &mut Txn<'_>, change: &PlaceChange) -> Result<Option<Place>, Stop> {
    if membership(txn, change.conversation)? != change.seen {
        return Ok(None);
    }
    let place = Place { section: change.section, at: change.at, version: txn.revision() };
    put(txn, change.conversation, Membership { place: Some(place), ..change.seen });
    Ok(Some(place))
}

fn membership(txn: &mut Txn<'_>, conversation: ConversationId) -> Result<Membership, Stop> {
    let body: Option<MembershipBody> = txn.get(Key::membership(conversation))?;
    Ok(body.map(Membership::from).unwrap_or_default())
}

fn put(txn: &mut Txn<'_>, conversation: ConversationId, membership: Membership) {
    txn.put(Key::membership(conversation), &MembershipBody::from(&membership));
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
