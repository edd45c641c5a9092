//! Copies a conversation by folding its log again on the other side.
//!
//! The state of a conversation follows from its log, so the target gets the same writes that a server would
//! make for the same entries. The batches differ from those of the servers, which makes no difference: a fold
//! gives the same result in one batch and in several. The exception is members who leave and come back, so an
//! entry by which a member leaves ends a batch.
//!
//! Cursors do not follow from the log alone, so they are copied as they are. The moves of senders do follow
//! from it, and are left out of the appends.

use std::collections::{BTreeSet, HashMap};
use std::iter::Peekable;

use godwit_domain::model::{Change, ConversationState, Entry, LogItem, Member};
use godwit_domain::ports::{Append, AppendOutcome, NewConversation, Part, StoreError, Trail, TransferStore};
use godwit_domain::projection::{Effects, Fold, MemberWrite, Needs, beginning_again};
use godwit_protocol::{ConversationId, Seq, Timestamp, UserId};

use crate::accounts::Account;
use crate::error::TransferError;
use crate::paging::PAGE;
use crate::transfer::Control;

/// Limits of an append, the same as those of servers.
const APPEND_ENTRIES_MAX: usize = 256;
const APPEND_BYTES_MAX: usize = 128 * 1024;
/// Users whose trails are copied at once.
pub(crate) const TRAILS_AT_ONCE: usize = 200;

/// The result of copying a conversation.
#[derive(Debug, Default)]
pub(crate) struct Copied {
    /// The target already had the entries through this one.
    pub(crate) after: Seq,
    pub(crate) entries: u64,
    /// Messages that the target already had, and that new entries have changed.
    pub(crate) touched: BTreeSet<Seq>,
    /// Users whose inbox and account log the copying has written to.
    pub(crate) noted: BTreeSet<UserId>,
}

pub(crate) async fn copy(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    id: ConversationId,
    control: &Control,
) -> Result<Copied, TransferError> {
    let mut copied = Copied::default();
    let mut state = match target.load(id).await? {
        Some(state) => {
            copied.after = state.head.seq;
            state
        }
        None => begin(source, target, id, &mut copied).await?,
    };
    loop {
        let page = source.entries(id, state.head.seq, PAGE).await?;
        let is_last = page.len() < PAGE;
        let mut entries = page.into_iter().map(|item| item.entry).peekable();
        while entries.peek().is_some() {
            let batch = next_batch(&mut entries, state.head.seq);
            let count = batch.len() as u64;
            append(source, target, &mut state, batch, &mut copied).await?;
            control.show(|progress| progress.entries += count);
        }
        if is_last {
            break;
        }
    }
    copy_trails(source, target, id).await?;
    Ok(copied)
}

/// All users who were ever members. Only the log names all of them: a former member may have left no other
/// trace.
pub(crate) async fn all_who_came(
    source: &dyn TransferStore,
    id: ConversationId,
) -> Result<BTreeSet<UserId>, StoreError> {
    let (mut came, mut after) = (BTreeSet::new(), Seq::ZERO);
    loop {
        let page = source.entries(id, after, PAGE).await?;
        for item in &page {
            match &item.entry.change {
                Change::Created(created) => came.extend(&created.member_ids),
                Change::MembersAdded { user_ids, .. } => came.extend(user_ids),
                Change::MemberJoined { user_id, .. } => came.extend([user_id]),
                _ => {}
            }
        }
        match page.last() {
            Some(last) if page.len() == PAGE => after = last.entry.seq,
            _ => return Ok(came),
        }
    }
}

async fn begin(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    id: ConversationId,
    copied: &mut Copied,
) -> Result<ConversationState, TransferError> {
    let refused = |why| TransferError::Refused(Part::Conversation(id), why);
    let conversation = source.load(id).await?.ok_or_else(|| refused("it does not exist"))?.conversation;
    let first = source.entries(id, Seq::ZERO, 1).await?.pop().ok_or_else(|| refused("its log is empty"))?;
    let kind = conversation.kind;
    let new = beginning_again(conversation, first.entry)
        .ok_or_else(|| refused("its log does not start with its creation"))?;
    copied.entries += 1;
    copied.noted.extend(&new.effects.list);
    let new = NewConversation { effects: without_moves(new.effects), ..new };
    bring_users(source, target, &new.effects).await?;
    let made = match kind.pair() {
        Some(pair) => target.open_direct(pair, new).await?,
        None => target.create(new, None).await?,
    };
    if made.id != id {
        return Err(refused("its two members have another conversation"));
    }
    target.load(id).await?.ok_or_else(|| refused("it was not created"))
}

/// The next entries that can be folded together: none needs another one of them, and only the last may remove a
/// member.
fn next_batch(entries: &mut Peekable<impl Iterator<Item = Entry>>, head: Seq) -> Vec<Entry> {
    let (mut batch, mut bytes) = (Vec::new(), 0);
    while batch.len() < APPEND_ENTRIES_MAX && bytes < APPEND_BYTES_MAX {
        let fits =
            |entry: &Entry| batch.is_empty() || Needs::of(entry).messages.iter().all(|seq| *seq <= head);
        let Some(entry) = entries.next_if(fits) else { break };
        bytes += entry.size_bytes();
        let is_end =
            entry.change.departed().is_some() || matches!(entry.change, Change::ConversationDeleted { .. });
        batch.push(entry);
        if is_end {
            break;
        }
    }
    batch
}

async fn append(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    state: &mut ConversationState,
    entries: Vec<Entry>,
    copied: &mut Copied,
) -> Result<(), TransferError> {
    let id = state.conversation.id;
    let known = Known::of(target, state, &entries).await?;
    copied.touched.extend(known.messages.iter().map(|item| item.entry.seq));
    let mut fold = Fold::new(state);
    for (user, member) in known.members {
        fold.know_member(user, member);
    }
    for item in known.messages {
        fold.know_message(item);
    }
    entries.iter().for_each(|entry| fold.apply(entry));
    let effects = without_moves(fold.finish());
    copied.entries += entries.len() as u64;
    copied.noted.extend(&effects.list);
    copied.noted.extend(effects.unlist.iter().map(|unlisting| unlisting.user_id));
    bring_users(source, target, &effects).await?;
    let append = Append { conversation: id, expected_head: state.head.seq, entries, effects };
    match target.append(&append).await? {
        AppendOutcome::Appended(_) => append.effects.apply_to(state),
        AppendOutcome::HeadMoved => {
            return Err(TransferError::Refused(Part::Conversation(id), "another process writes to it"));
        }
    }
    Ok(())
}

/// The members and messages that the fold of the next entries needs.
struct Known {
    members: Vec<(UserId, Option<Member>)>,
    messages: Vec<LogItem>,
}

impl Known {
    async fn of(
        target: &dyn TransferStore,
        state: &ConversationState,
        entries: &[Entry],
    ) -> Result<Self, StoreError> {
        let id = state.conversation.id;
        let (mut users, mut seqs) = (BTreeSet::new(), BTreeSet::new());
        for entry in entries {
            let needs = Needs::of(entry);
            users.extend(needs.members);
            seqs.extend(needs.messages);
        }
        let seqs: Vec<Seq> = seqs.into_iter().collect();
        let items = if seqs.is_empty() { Vec::new() } else { target.items(id, &seqs).await? };
        let messages: Vec<LogItem> = items.into_iter().flatten().collect();
        let mut members = Vec::new();
        if !state.is_whole() {
            users.extend(messages.iter().flat_map(Needs::of_mentioned));
            for user in users {
                members.push((user, target.member(id, user).await?));
            }
        }
        Ok(Self { members, messages })
    }
}

/// Copies the users who become members, so that they exist before the conversation enters their inboxes.
async fn bring_users(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    effects: &Effects,
) -> Result<(), TransferError> {
    let users: Vec<UserId> = effects.members.iter().map(MemberWrite::user_id).collect();
    let there: BTreeSet<UserId> = target.users(&users).await?.into_iter().map(|user| user.id).collect();
    for user in users.into_iter().filter(|user| !there.contains(user)) {
        Account { source, target, user }.copy_profile().await?;
    }
    Ok(())
}

fn without_moves(effects: Effects) -> Effects {
    Effects { cursors: Vec::new(), ..effects }
}

/// Copies the moves that the target lacks.
async fn copy_trails(
    source: &dyn TransferStore,
    target: &dyn TransferStore,
    id: ConversationId,
) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let trails = source.trails(id, after, TRAILS_AT_ONCE).await?;
        let Some(last) = trails.last().map(|trail| trail.user_id) else { return Ok(()) };
        let there = trails_until(target, id, after, last).await?;
        let is_last = trails.len() < TRAILS_AT_ONCE;
        let missing: Vec<Trail> = trails
            .into_iter()
            .filter_map(|trail| match there.get(&trail.user_id) {
                Some(there) => missing(trail, there),
                None => Some(trail),
            })
            .collect();
        if !missing.is_empty() {
            target.put_trails(id, missing).await?;
        }
        if is_last {
            return Ok(());
        }
        after = Some(last);
    }
}

/// The trails of users after `after`, at least through `last`.
pub(crate) async fn trails_until(
    store: &dyn TransferStore,
    id: ConversationId,
    mut after: Option<UserId>,
    last: UserId,
) -> Result<HashMap<UserId, Trail>, StoreError> {
    let mut found = HashMap::new();
    loop {
        let trails = store.trails(id, after, TRAILS_AT_ONCE).await?;
        let is_last = trails.len() < TRAILS_AT_ONCE;
        after = trails.last().map(|trail| trail.user_id).or(after);
        found.extend(trails.into_iter().map(|trail| (trail.user_id, trail)));
        if is_last || after >= Some(last) {
            return Ok(found);
        }
    }
}

/// The part of a trail that the other one lacks.
pub(crate) fn missing(trail: Trail, there: &Trail) -> Option<Trail> {
    let without = |moves: Vec<(Seq, Timestamp)>, there: &[(Seq, Timestamp)]| {
        moves.into_iter().filter(|moved| there.binary_search(moved).is_err()).collect::<Vec<_>>()
    };
    let delivered = without(trail.delivered, &there.delivered);
    let read = without(trail.read, &there.read);
    let is_further =
        there.cursor.advanced_by(trail.cursor) != there.cursor || trail.moved_at > there.moved_at;
    (is_further || !delivered.is_empty() || !read.is_empty()).then_some(Trail { delivered, read, ..trail })
}
