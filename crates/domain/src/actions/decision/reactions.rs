//! Reactions: all reactions to one message are decided together.

use std::collections::HashMap;

use godwit_protocol::UserId;
use godwit_protocol::limits::REACTIONS_DISTINCT_MAX;

use super::case::Case;
use crate::actions::refusal::Refusal;
use crate::actions::rules::Deed;
use crate::model::{Change, LogItem, MessageState, ReactionChange, Target};

/// One change for all reactions to a message, and a verdict for each reaction.
pub(super) struct Reactions {
    pub(super) change: Option<Change>,
    pub(super) outcomes: Vec<Result<(), Refusal>>,
}

impl Case<'_, '_> {
    /// Decides several reactions to one message.
    pub(super) fn react(&self, target: Target, wanted: &[(UserId, Option<&str>)]) -> Reactions {
        let mut tally = Tally::default();
        let outcomes = wanted.iter().map(|(user, reaction)| {
            let item = self.check(*user, Deed::React).and_then(|_| self.visible(*user, target))?;
            let state = tally.counts.get_or_insert_with(|| counts_of(item));
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
        Reactions { change: tally.finish(target), outcomes }
    }

    fn current(&self, user: UserId, target: Target) -> Option<Box<str>> {
        self.known.reactions.get(&(target.seq, user)).cloned()
    }
}

/// The reactions to one message while a batch is decided.
#[derive(Default)]
struct Tally {
    /// The counts of reactions. `None` until the first user is known to see the message.
    counts: Option<MessageState>,
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

    fn finish(mut self, target: Target) -> Option<Change> {
        self.changes.retain(|change| change.from != change.to);
        let counts = self.counts.unwrap_or_default().reactions;
        let is_change = !self.changes.is_empty();
        is_change.then_some(Change::Reacted { target, changes: self.changes, counts })
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
