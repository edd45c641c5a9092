//! Appends to a log: writes the entries and all their effects.

use godwit_domain::model::{AccountEntry, Change, Entry, FanOut, Head};
use godwit_domain::ports::{Append, AppendOutcome, CursorMove, DueExpiry, StoreError};
use godwit_domain::projection::{Effects, Expiry, InviteWrite, MemberWrite, ReactionWrite, Unlisting};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};

use super::{chunks, cursors, erase};
use crate::account;
use crate::engine::Bytes;
use crate::inbox::listing::Listing;
use crate::inbox::{changes, order};
use crate::keys::{self, Key};
use crate::read::Read;
use crate::records::{
    ConversationIdRecord, DetailsRecord, HeadRecord, LocationRecord, MemberRecord, MessageStateRecord,
    ReactionRecord, Record, SeqRecord, Standing, corrupt, present,
};
use crate::txn::Txn;

/// Entries written to account logs, with their users.
type Notes = Vec<(UserId, AccountEntry)>;
/// A row to be written, or to be removed.
type RowWrite = (Key, Option<Bytes>);

/// An append with encoded rows, which keeps the work of the committer's thread small.
pub(crate) struct PreparedAppend {
    conversation: ConversationId,
    expected_head: Seq,
    /// The rows that can be written without reading.
    rows: Vec<RowWrite>,
    /// The entries, with the senders of those that are messages.
    appended: Vec<(Seq, Option<UserId>)>,
    pub(super) head: Head,
    /// Set if the details change.
    fan_out: Option<FanOut>,
    members: Vec<(UserId, MemberRecord)>,
    erase: Vec<Seq>,
    cursors: Vec<CursorMove>,
    follow: Vec<UserId>,
    touch: Vec<UserId>,
    list: Vec<UserId>,
    unlist: Vec<Unlisting>,
    cross: Vec<UserId>,
}

impl PreparedAppend {
    pub(crate) fn new(append: &Append) -> Self {
        let Append { conversation: id, expected_head, entries, effects } = append;
        let (id, expected_head) = (*id, *expected_head);
        debug_assert!(!entries.is_empty(), "an append has entries");
        debug_assert!(
            entries.iter().zip(expected_head.get() + 1..).all(|(entry, seq)| entry.seq.get() == seq),
            "the entries of an append follow each other and the head"
        );
        let sender = |entry: &Entry| entry.message().map(|message| message.sender_id);
        let appended = entries.iter().map(|entry| (entry.seq, sender(entry))).collect();
        let mut rows = Vec::new();
        push_entries(&mut rows, id, entries);
        push_effects(&mut rows, id, effects);
        Self {
            conversation: id,
            expected_head,
            members: push_members(&mut rows, id, &effects.members),
            rows,
            appended,
            head: effects.head.clone(),
            fan_out: effects.details.as_ref().map(|details| details.fan_out),
            erase: effects.erase.clone(),
            cursors: effects.cursors.clone(),
            follow: effects.follow.clone(),
            touch: effects.touch.clone(),
            list: effects.list.clone(),
            unlist: effects.unlist.clone(),
            cross: effects.cross.clone(),
        }
    }

    pub(crate) fn run(self, txn: &mut Txn<'_>) -> Result<AppendOutcome, StoreError> {
        let head: Option<HeadRecord> = txn.record(&keys::head(self.conversation))?;
        match head.filter(|head| head.seq() == self.expected_head) {
            Some(head) => self.write(txn, head.standing).map(AppendOutcome::Appended),
            None => Ok(AppendOutcome::HeadMoved),
        }
    }

    pub(super) fn write(self, txn: &mut Txn<'_>, mut standing: Standing) -> Result<Notes, StoreError> {
        let id = self.conversation;
        let mut notes = Vec::new();
        let fan_out = if self.list.is_empty() { FanOut::OnWrite } else { self.fan_out(txn)? };
        let at = MessageId::new(self.head.id).timestamp();
        let mut listing = Listing { conversation: id, fan_out, standing: &mut standing, at };
        // First, while the listings of the leaving users still exist.
        for unlisting in self.unlist {
            notes.push(listing.unlist(txn, unlisting)?);
        }
        for (key, row) in self.rows {
            match row {
                Some(row) => txn.put(key, row),
                None => txn.remove(key),
            }
        }
        put_members(txn, id, self.members, listing.standing)?;
        erase::erase(txn, id, &self.erase)?;
        cursors::advance_senders(txn, &self.cursors, self.expected_head, &self.appended)?;
        for user in self.list {
            notes.extend(listing.list(txn, user)?);
        }
        if listing.standing.has_unlisted && !self.follow.is_empty() {
            for user in &self.follow {
                notes.extend(listing.list(txn, *user)?);
            }
            listing.standing.has_unlisted = false;
        }
        if !self.cross.is_empty() {
            listing.cross(txn, &self.cross)?;
        }
        let activity_at = self.head.activity_at().unwrap_or(standing.activity_at);
        order::follow(txn, id, &mut standing, activity_at, &self.follow)?;
        if !self.touch.is_empty() {
            changes::touch(txn, id, &mut standing, at, &self.touch)?;
        }
        txn.put_record(keys::head(id), &HeadRecord::new(&self.head, standing));
        notes.into_iter().map(|note| Ok((note.user_id, account::log::note(txn, note)?))).collect()
    }

    /// The fan-out after the append.
    fn fan_out(&self, txn: &Txn<'_>) -> Result<FanOut, StoreError> {
        if let Some(fan_out) = self.fan_out {
            return Ok(fan_out);
        }
        let key = keys::details(self.conversation);
        let details: Option<DetailsRecord> = txn.record(&key)?;
        let details = details.ok_or_else(|| corrupt::<DetailsRecord>(&key.bytes, "it is missing"))?;
        Ok(details.fan_out())
    }
}

/// The rows of entries, and their rows in the indexes.
fn push_entries(rows: &mut Vec<RowWrite>, id: ConversationId, entries: &[Entry]) {
    for entry in entries {
        if let Change::Message(message) = &entry.change {
            let key = keys::client_id(id, message.sender_id, &message.client_id);
            rows.push(put(key, &SeqRecord(entry.seq)));
        }
    }
    let follows = |one: &Entry, next: &Entry| next.shown && one.shown && next.id == one.id + 1;
    for run in entries.chunk_by(follows).filter(|run| run[0].shown) {
        let location = LocationRecord { conversation: id, first: run[0].seq, count: run.len() as u64 };
        rows.push(put(keys::location(MessageId::new(run[0].id)), &location));
    }
    rows.extend(chunks::of(id, entries).into_iter().map(|(key, chunk)| put(key, &chunk)));
}

/// The rows of effects that need no read.
fn push_effects(rows: &mut Vec<RowWrite>, id: ConversationId, effects: &Effects) {
    let details = effects.details.as_deref();
    rows.extend(details.map(|details| put(keys::details(id), &DetailsRecord::from(details))));
    for (seq, state) in &effects.messages {
        rows.push(put(keys::message_state(id, *seq), &MessageStateRecord::from(state)));
    }
    for ReactionWrite { seq, user_id, reaction, at } in &effects.reactions {
        let record =
            reaction.as_ref().map(|reaction| ReactionRecord { reaction: reaction.clone(), at: *at }.encode());
        rows.push((keys::reaction(id, *seq, *user_id), record));
    }
    for reply in &effects.replies {
        rows.push(put(keys::reply(id, reply.root, reply.number), &SeqRecord(reply.seq)));
    }
    for Expiry { at, seq } in &effects.expiries {
        rows.push((keys::expiry(DueExpiry { at: *at, conversation: id, seq: *seq }), Some(present())));
    }
    for InviteWrite { token, usable } in &effects.invites {
        let record = usable.then(|| ConversationIdRecord(id).encode());
        rows.push((keys::invite(token), record));
    }
}

/// Adds the row removals of leaving members, and returns the records of all others. Cursors have rows of their
/// own.
fn push_members(
    rows: &mut Vec<RowWrite>,
    id: ConversationId,
    members: &[MemberWrite],
) -> Vec<(UserId, MemberRecord)> {
    let mut staying = Vec::with_capacity(members.len());
    for member in members {
        match member {
            MemberWrite::Put(member) => staying.push((member.user_id, MemberRecord::from(member))),
            MemberWrite::Remove(user) => {
                rows.extend([(keys::member(id, *user), None), (keys::cursor(id, *user), None)]);
            }
        }
    }
    staying
}

/// A member who cleared the conversation after the append was decided stays unlisted until an effect lists
/// them.
fn put_members(
    txn: &mut Txn<'_>,
    id: ConversationId,
    members: Vec<(UserId, MemberRecord)>,
    standing: &mut Standing,
) -> Result<(), StoreError> {
    for (user, mut member) in members {
        let key = keys::member(id, user);
        if standing.has_unlisted && !member.unlisted {
            let before: Option<MemberRecord> = txn.record(&key)?;
            member.unlisted = before.is_some_and(|before| before.unlisted);
        }
        standing.has_unlisted |= member.unlisted;
        txn.put_record(key, &member);
    }
    Ok(())
}

fn put(key: Key, record: &impl Record) -> RowWrite {
    (key, Some(record.encode()))
}
