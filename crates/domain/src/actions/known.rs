//! What a batch of jobs is decided on, besides the state.

use std::collections::HashMap;

use godwit_protocol::{Seq, UserId};

use super::action::Action;
use super::appending::Appending;
use super::outbox::Job;
use crate::conversations::Live;
use crate::model::{LogItem, Member};
use crate::ports::StoreError;
use crate::projection::Needs;

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) blocked: bool,
    /// Where the state does not have all; none for who is not a member.
    pub(super) members: HashMap<UserId, Option<Member>>,
    pub(super) messages: HashMap<Seq, LogItem>,
    pub(super) reactions: HashMap<(Seq, UserId), Box<str>>,
}

/// What is asked for.
#[derive(Debug, Default)]
struct Wanted {
    users: Vec<UserId>,
    messages: Vec<Seq>,
    reactions: Vec<(Seq, UserId)>,
}

impl Wanted {
    /// Messages and reactions in order, each once.
    fn of(batch: &[Job]) -> Self {
        let mut wanted = Self::default();
        batch.iter().for_each(|job| wanted.add(job));
        wanted.messages.sort_unstable();
        wanted.messages.dedup();
        wanted.reactions.sort_unstable();
        wanted.reactions.dedup();
        wanted
    }

    fn add(&mut self, job: &Job) {
        let Self { users, messages, reactions } = self;
        users.push(job.actor);
        match &job.action {
            Action::Send(message) => {
                users.extend(&message.mentions.users);
                messages.extend(message.reply.iter().flat_map(|reply| [reply.to.seq, reply.root.seq]));
            }
            Action::Edit { target, mentions, .. } => {
                users.extend(&mentions.users);
                messages.push(target.seq);
            }
            Action::React { target, .. } => {
                messages.push(target.seq);
                reactions.push((target.seq, job.actor));
            }
            Action::Delete { target } | Action::Pin(target) | Action::Unpin(target) => {
                messages.push(target.seq);
            }
            Action::Expire { targets } => messages.extend(targets.iter().map(|target| target.seq)),
            Action::AddMembers { user_ids } => users.extend(user_ids),
            Action::RemoveMember(user) | Action::SetRole(user, _) | Action::TransferOwnership(user) => {
                users.push(*user);
            }
            Action::Join { .. }
            | Action::Leave
            | Action::Update(_)
            | Action::CreateInvite { .. }
            | Action::RevokeInvite(_)
            | Action::DeleteConversation => {}
        }
    }
}

impl Appending {
    /// For each job the message that was sent before with its client id.
    pub(super) async fn originals(
        &self,
        live: &Live,
        batch: &[Job],
    ) -> Result<Vec<Option<LogItem>>, StoreError> {
        let mut originals = vec![None; batch.len()];
        let sends = batch.iter().enumerate().filter_map(|(place, job)| match &job.action {
            Action::Send(message) => Some((place, (job.actor, &message.client_id))),
            _ => None,
        });
        let (places, sent): (Vec<usize>, Vec<_>) = sends.unzip();
        if sent.is_empty() {
            return Ok(originals);
        }
        let seqs = self.store.sent_as_each(live.id(), &sent).await?;
        let found: Vec<(usize, Seq)> =
            places.into_iter().zip(seqs).filter_map(|(place, seq)| Some((place, seq?))).collect();
        if !found.is_empty() {
            let seqs: Vec<Seq> = found.iter().map(|(_, seq)| *seq).collect();
            let items = self.store.items(live.id(), &seqs).await?;
            for ((place, _), item) in found.into_iter().zip(items) {
                originals[place] = item;
            }
        }
        Ok(originals)
    }

    pub(super) async fn known(&self, live: &Live, batch: &[Job]) -> Result<Known, StoreError> {
        let (kind, is_whole) = live.read(|state| (state.conversation.kind, state.is_whole()));
        let Wanted { mut users, messages, reactions } = Wanted::of(batch);
        let blocked = async {
            match kind.pair() {
                Some(pair) => self.store.is_blocked(pair.low(), pair.high()).await,
                None => Ok(false),
            }
        };
        let found = async {
            if messages.is_empty() { Ok(Vec::new()) } else { self.store.items(live.id(), &messages).await }
        };
        let reacted = async {
            if reactions.is_empty() {
                Ok(Vec::new())
            } else {
                self.store.reactions_by(live.id(), &reactions).await
            }
        };
        let (blocked, found, reacted) = tokio::try_join!(blocked, found, reacted)?;
        let messages: HashMap<Seq, LogItem> =
            found.into_iter().flatten().map(|item| (item.entry.seq, item)).collect();
        let mut members = HashMap::new();
        if !is_whole {
            users.extend(messages.values().flat_map(Needs::of_mentioned));
            users.sort_unstable();
            users.dedup();
            for user in users {
                members.insert(user, self.conversations.stored_member(live.id(), user).await?);
            }
        }
        let reactions =
            reactions.into_iter().zip(reacted).filter_map(|(key, reaction)| Some((key, reaction?)));
        Ok(Known { blocked, members, messages, reactions: reactions.collect() })
    }
}
