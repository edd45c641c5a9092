//! Reactions: all reactions to one message are decided together.

use std::collections::HashMap;

use godwit_protocol::UserId;
use godwit_protocol::limits::REACTIONS_DISTINCT_MAX;

use super::case::Case;
use crate::actions::refusal::Refusal;
use crate::actions::rules::Deed;
use crate::model::{Change, LogItem, MessageState, ReactionChange, Target};

/// Users in one entry. More of them take several entries, because a page of the log must have room for any entry.
pub(super) const REACTED_PER_ENTRY_MAX: usize = 1_000;

/// The changes for all reactions to a message, usually one, and a verdict for each reaction.
pub(super) struct Reactions {
    pub(super) changes: Vec<Change>,
    pub(super) outcomes: Vec<Result<(), Refusal>>,
}

impl Case<'_, '_> {
    /// Decides several reactions to one message.
    pub(super) fn react(&self, target: Target, wanted: &[(UserId, Option<&str>)]) -> Reactions {
        let mut tally = Tally::default();
        let outcomes = wanted.iter().map(|(user, reaction)| {
            let item = self.check(*user, Deed::React).and_then(|_| self.visible(*user, target))?;
            let (_, state) = tally.counts.get_or_insert_with(|| (counts_of(item), counts_of(item)));
            let from = tally.current.entry(*user).or_insert_with(|| self.current(*user, target));
            if from.as_deref() == *reaction {
                return Ok(());
            }
            let change = ReactionChange { user_id: *user, from: from.clone(), to: reaction.map(Into::into) };
            *state = counted(state, &change)?;
            from.clone_from(&change.to);
            tally.add(change);
            Ok(())
        });
        let outcomes = outcomes.collect();
        Reactions { changes: tally.finish(target), outcomes }
    }

    fn current(&self, user: UserId, target: Target) -> Option<Box<str>> {
        self.known.reactions.get(&(target.seq, user)).cloned()
    }
}

/// The reactions to one message while a batch is decided.
#[derive(Default)]
struct Tally {
    /// The counts of reactions before the batch, and now. `None` until the first user is known to see the message.
    counts: Option<(MessageState, MessageState)>,
    /// The current reactions of the users in the batch.
    current: HashMap<UserId, Option<Box<str>>>,
    /// One change per user.
    changes: Vec<ReactionChange>,
}

impl Tally {
    fn add(&mut self, change: ReactionChange) {
        match self.changes.iter_mut().find(|earlier| earlier.user_id == change.user_id) {
            Some(earlier) => earlier.to = change.to,
            None => self.changes.push(change),
        }
    }

    fn finish(mut self, target: Target) -> Vec<Change> {
        self.changes.retain(|change| change.from != change.to);
        let (mut counts, _) = self.counts.unwrap_or_default();
        let changes = self.changes.chunks(REACTED_PER_ENTRY_MAX).map(|changes| {
            counts.react(changes);
            Change::Reacted { target, changes: changes.to_vec(), counts: counts.reactions.clone() }
        });
        changes.collect()
    }
}

fn counts_of(item: &LogItem) -> MessageState {
    MessageState { reactions: item.state.reactions.clone(), ..MessageState::default() }
}

/// The counts after one more change, or a refusal if the message would have too many different reactions.
fn counted(before: &MessageState, change: &ReactionChange) -> Result<MessageState, Refusal> {
    let mut after = before.clone();
    after.react(std::slice::from_ref(change));
    if after.reactions.len() > REACTIONS_DISTINCT_MAX { Err(Refusal::TooManyReactions) } else { Ok(after) }
}
