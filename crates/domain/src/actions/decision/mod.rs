//! Decides a batch.
//!
//! A decision is a pure function of the conversation, the facts that were read for the batch, the time and the new ids. It
//! reads and writes nothing else.

mod case;
mod details;
mod members;
mod messages;
mod reactions;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;

use godwit_protocol::{Seq, Timestamp};

use super::action::Action;
use super::job::Job;
use super::prepare::Known;
use super::refusal::Refusal;
use super::rules::{Deed, MessagePolicy};
use crate::model::{Change, ConversationState, Entry, LogItem, Target};
use crate::ports::StoreError;
use crate::projection::{Effects, Fold};
use crate::show::about;
use crate::snowflake::IdGenerator;
use case::Case;
use reactions::Reactions;

/// Inputs that are the same for every conversation.
pub(super) struct Terms<'a> {
    pub(super) policy: &'a MessagePolicy,
    pub(super) now: Timestamp,
    pub(super) ids: &'a IdGenerator,
}

/// For one job: the range of its entries, empty if there is nothing to change; or the refusal.
pub(super) type Verdict = Result<Range<usize>, Refusal>;

/// The result of deciding a batch.
pub(super) struct Decision {
    /// One verdict per job, in order.
    pub(super) verdicts: Vec<Verdict>,
    /// Empty if nothing changes.
    pub(super) entries: Vec<Entry>,
    pub(super) effects: Effects,
    /// The messages whose content the entries show, as they are after the batch, so that text which the batch edits or deletes
    /// is not shown. Empty, and without an allocation, for a batch of plain messages.
    pub(super) referred: HashMap<Seq, LogItem>,
}

impl Decision {
    /// Decides one job after the other, each on the state that the previous jobs have produced. If no ids are available, no
    /// job gets an entry.
    pub(super) fn of(jobs: &[Job], state: &ConversationState, known: Known, terms: &Terms<'_>) -> Self {
        let mut deciding = Deciding::begin(jobs, state, known, terms);
        let outcome = deciding.decide_all();
        deciding.finish(outcome)
    }
}

/// The state while a batch is decided.
struct Deciding<'a> {
    jobs: &'a [Job],
    terms: &'a Terms<'a>,
    /// The facts that the fold does not use: blocks, accounts and reactions.
    known: Known,
    fold: Fold<'a>,
    entries: Vec<Entry>,
    /// `None` for a job that is not decided yet.
    verdicts: Vec<Option<Verdict>>,
}

impl<'a> Deciding<'a> {
    fn begin(jobs: &'a [Job], state: &'a ConversationState, mut known: Known, terms: &'a Terms<'a>) -> Self {
        let mut fold = Fold::new(state);
        for (user, member) in std::mem::take(&mut known.members) {
            fold.know_member(user, member);
        }
        for item in std::mem::take(&mut known.messages).into_values() {
            fold.know_message(item);
        }
        for (user, concealed) in std::mem::take(&mut known.concealed) {
            fold.know_concealed(user, concealed);
        }
        let verdicts = jobs.iter().map(|_| None).collect();
        Self { jobs, terms, known, fold, entries: Vec::new(), verdicts }
    }

    fn decide_all(&mut self) -> Result<(), StoreError> {
        for (place, job) in self.jobs.iter().enumerate() {
            // A reaction may have been decided together with an earlier one.
            if self.verdicts[place].is_none() {
                self.decide(place, job)?;
            }
        }
        Ok(())
    }

    fn decide(&mut self, place: usize, job: &Job) -> Result<(), StoreError> {
        let id = self.next_id()?;
        let (case, actor) = (self.case(id), job.actor);
        let changes = match &job.action {
            _ if case.is_deleted() => Err(Refusal::NotFound),
            Action::Send(message) => case.send(actor, message),
            Action::Unsendable { refusal, .. } => {
                case.check(actor, Deed::Send).and_then(|_| Err((**refusal).clone()))
            }
            Action::Edit { target, text, mentions } => case.edit(actor, *target, text, mentions),
            Action::Delete { target } => case.delete(actor, *target),
            Action::Expire { targets } => Ok(case.expire(targets)),
            Action::React { target, .. } => return self.decide_reactions(id, *target),
            Action::AddMembers { user_ids } => case.add_members(actor, user_ids),
            Action::Join { invite } => case.join(actor, invite.as_ref()),
            Action::Leave => case.leave(actor),
            Action::RemoveMember(user) => case.remove(actor, *user),
            Action::Ban(user) => case.ban(actor, *user),
            Action::Unban(user) => case.unban(actor, *user),
            Action::SetRole(user, role) => case.set_role(actor, *user, *role),
            Action::TransferOwnership(user) => case.transfer(actor, *user),
            Action::Update(change) => case.update(actor, change),
            Action::Pin(target) => case.pin(actor, *target),
            Action::Unpin(target) => case.unpin(actor, *target),
            Action::CreateInvite { token, client_id, expires_at, uses_max } => {
                case.create_invite(actor, token, client_id.as_ref(), *expires_at, *uses_max)
            }
            Action::RevokeInvite(id) => case.revoke_invite(actor, *id),
            Action::DeleteConversation => case
                .check(actor, Deed::DeleteConversation)
                .map(|_| vec![Change::ConversationDeleted { by: actor }]),
        };
        self.verdicts[place] = Some(match changes {
            Ok(changes) => Ok(self.add(id, changes)?),
            Err(refusal) => Err(refusal),
        });
        Ok(())
    }

    /// Merges all reactions of the batch to one message into one entry, or a few.
    fn decide_reactions(&mut self, id: u64, to: Target) -> Result<(), StoreError> {
        let same = self.jobs.iter().enumerate().filter_map(|(place, job)| match &job.action {
            Action::React { target, reaction } if *target == to => {
                Some((place, (job.actor, reaction.as_deref())))
            }
            _ => None,
        });
        let (places, wanted): (Vec<usize>, Vec<_>) = same.unzip();
        let Reactions { changes, outcomes } = self.case(id).react(to, &wanted);
        let made = self.add(id, changes)?;
        for (place, outcome) in places.into_iter().zip(outcomes) {
            self.verdicts[place] = Some(outcome.map(|()| made.clone()));
        }
        Ok(())
    }

    fn case(&self, id: u64) -> Case<'_, 'a> {
        Case { fold: &self.fold, known: &self.known, policy: self.terms.policy, now: self.terms.now, id }
    }

    /// Makes an entry from each change. The first one has this id.
    fn add(
        &mut self,
        id: u64,
        changes: impl IntoIterator<Item = Change>,
    ) -> Result<Range<usize>, StoreError> {
        let first = self.entries.len();
        for (number, change) in changes.into_iter().enumerate() {
            let id = if number == 0 { id } else { self.next_id()? };
            let entry = self.fold.next_entry(id, change);
            self.fold.apply(&entry);
            self.know_reactions(&entry);
            self.entries.push(entry);
        }
        Ok(first..self.entries.len())
    }

    fn know_reactions(&mut self, entry: &Entry) {
        let Change::Reacted { target, changes, .. } = &entry.change else { return };
        for change in changes {
            let key = (target.seq, change.user_id);
            match &change.to {
                Some(to) => self.known.reactions.insert(key, to.clone()),
                None => self.known.reactions.remove(&key),
            };
        }
    }

    fn next_id(&self) -> Result<u64, StoreError> {
        self.terms.ids.next_after(self.fold.head().id)
    }

    fn finish(self, outcome: Result<(), StoreError>) -> Decision {
        let Self { fold, mut entries, verdicts, .. } = self;
        let verdicts = match outcome {
            Ok(()) => verdicts.into_iter().flatten().collect(),
            Err(error) => {
                entries.clear();
                refused_all(verdicts, &error.into())
            }
        };
        let mut referred = HashMap::new();
        for seq in entries.iter().filter_map(about) {
            if let Some(item) = fold.message(seq)
                && !referred.contains_key(&seq)
            {
                referred.insert(seq, item.clone());
            }
        }
        Decision { verdicts, entries, effects: fold.finish(), referred }
    }
}

/// Keeps the refusals, and refuses all other jobs with `refusal`.
fn refused_all(verdicts: Vec<Option<Verdict>>, refusal: &Refusal) -> Vec<Verdict> {
    let refused = verdicts.into_iter().map(|verdict| match verdict {
        Some(Err(refused)) => Err(refused),
        Some(Ok(_)) | None => Err(refusal.clone()),
    });
    refused.collect()
}
