//! What a batch of jobs is decided on, besides the state.

use std::collections::{HashMap, HashSet};

use godwit_protocol::{Seq, UserId};

use super::action::Action;
use super::appending::Appending;
use super::outbox::Job;
use crate::conversations::Live;
use crate::model::{Concealed, Details, Invite, LogItem, Member};
use crate::ports::{HiddenFrom, StoreError};
use crate::projection::Needs;

/// Users who have hidden one message, up to whom they are named to those who deliver entries about it.
const HIDDEN_FROM_NAMED_MAX: usize = 1_000;

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) blocked: bool,
    /// Those who act, or in whose name something happens, and whose accounts are disabled.
    pub(super) disabled: HashSet<UserId>,
    /// Where the state does not have all; none for who is not a member.
    pub(super) members: HashMap<UserId, Option<Member>>,
    pub(super) messages: HashMap<Seq, LogItem>,
    pub(super) reactions: HashMap<(Seq, UserId), Box<str>>,
    /// Who has hidden the messages that the jobs refer to.
    pub(super) hidden_from: HashMap<Seq, HiddenFrom>,
    /// What those who join have deleted for themselves.
    pub(super) concealed: Vec<(UserId, Concealed)>,
}

/// What is asked for.
#[derive(Debug, Default)]
struct Wanted {
    /// Whose accounts may be disabled.
    people: Vec<UserId>,
    /// Who may be members.
    users: Vec<UserId>,
    messages: Vec<Seq>,
    reactions: Vec<(Seq, UserId)>,
    /// Messages of which something is shown to everybody.
    shown: Vec<Seq>,
    joining: Vec<UserId>,
}

impl Wanted {
    /// People, messages and reactions in order, each once.
    fn of(batch: &[Job], details: &Details) -> Self {
        let mut wanted = Self::default();
        batch.iter().for_each(|job| wanted.add(job, details));
        wanted.people.sort_unstable();
        wanted.people.dedup();
        wanted.messages.sort_unstable();
        wanted.messages.dedup();
        wanted.reactions.sort_unstable();
        wanted.reactions.dedup();
        wanted.shown.sort_unstable();
        wanted.shown.dedup();
        wanted
    }

    fn add(&mut self, job: &Job, details: &Details) {
        let Self { people, users, messages, reactions, shown, joining } = self;
        if !matches!(job.action, Action::Expire { .. }) {
            people.push(job.actor);
        }
        users.push(job.actor);
        match &job.action {
            Action::Send(message) => {
                users.extend(&message.mentions.users);
                messages.extend(message.reply.iter().flat_map(|reply| [reply.to.seq, reply.root.seq]));
                shown.extend(message.reply.map(|reply| reply.to.seq));
            }
            Action::Edit { target, mentions, .. } => {
                users.extend(&mentions.users);
                messages.push(target.seq);
                shown.push(target.seq);
            }
            Action::React { target, .. } => {
                messages.push(target.seq);
                shown.push(target.seq);
                reactions.push((target.seq, job.actor));
            }
            Action::Delete { target } | Action::Pin(target) | Action::Unpin(target) => {
                messages.push(target.seq);
            }
            Action::Expire { targets } => messages.extend(targets.iter().map(|target| target.seq)),
            Action::AddMembers { user_ids } => {
                users.extend(user_ids);
                joining.extend(user_ids);
            }
            Action::Join { invite } => {
                joining.push(job.actor);
                let is_used = |made: &&Invite| invite.as_ref() == Some(&made.token);
                let maker = details.invites.iter().find(is_used).map(|invite| invite.created_by);
                people.extend(maker);
                users.extend(maker);
            }
            Action::RemoveMember(user)
            | Action::Ban(user)
            | Action::SetRole(user, _)
            | Action::TransferOwnership(user) => users.push(*user),
            Action::Unsendable { .. }
            | Action::Leave
            | Action::Unban(_)
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
            Action::Unsendable { client_id, .. } => Some((place, (job.actor, client_id))),
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
        let (kind, is_whole, details) =
            live.read(|state| (state.conversation.kind, state.is_whole(), state.details.clone()));
        let Wanted { people, mut users, messages, reactions, shown, joining } = Wanted::of(batch, &details);
        let disabled =
            async { if people.is_empty() { Ok(Vec::new()) } else { self.store.users(&people).await } };
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
        let (disabled, blocked, found, reacted, hidden_from, concealed) = tokio::try_join!(
            disabled,
            blocked,
            found,
            reacted,
            self.hidden_from(live, shown),
            self.concealed(live, joining)
        )?;
        let disabled = disabled.iter().filter(|user| user.disabled_at.is_some()).map(|user| user.id);
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
        let (disabled, reactions) = (disabled.collect(), reactions.collect());
        Ok(Known { blocked, disabled, members, messages, reactions, hidden_from, concealed })
    }

    /// Who has hidden each of these messages. Where the members are in memory they say whether anybody may have.
    async fn hidden_from(
        &self,
        live: &Live,
        mut shown: Vec<Seq>,
    ) -> Result<HashMap<Seq, HiddenFrom>, StoreError> {
        let hidden_to = live.read(|state| {
            let hidden = state.members.iter().map(|member| member.concealed.hidden_to);
            state.is_whole().then(|| hidden.max().unwrap_or_default())
        });
        shown.retain(|seq| hidden_to.is_none_or(|hidden_to| *seq <= hidden_to));
        let mut found = HashMap::with_capacity(shown.len());
        for seq in shown {
            let users = self.store.hidden_from(live.id(), seq, HIDDEN_FROM_NAMED_MAX + 1).await?;
            if users.len() > HIDDEN_FROM_NAMED_MAX {
                found.insert(seq, HiddenFrom::TooMany);
            } else if !users.is_empty() {
                found.insert(seq, HiddenFrom::These(users));
            }
        }
        Ok(found)
    }

    async fn concealed(
        &self,
        live: &Live,
        joining: Vec<UserId>,
    ) -> Result<Vec<(UserId, Concealed)>, StoreError> {
        if joining.is_empty() {
            return Ok(Vec::new());
        }
        let concealed = self.store.concealed(live.id(), &joining).await?;
        Ok(joining.into_iter().zip(concealed).collect())
    }
}
