//! What a batch of jobs is decided on, besides the state.

use std::collections::{HashMap, HashSet};

use futures_util::{StreamExt, TryStreamExt, stream};
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

/// Reads that a batch waits for at once.
const READS_AT_ONCE_MAX: usize = 16;

#[derive(Debug, Default)]
pub(super) struct Known {
    pub(super) blocked: bool,
    /// Those who act, or in whose name something happens, and whose accounts are disabled.
    pub(super) disabled: HashSet<UserId>,
    /// Those who are to be added and do not want to be, by whom they would be.
    pub(super) unwilling: HashSet<(UserId, UserId)>,
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
    /// Who adds whom.
    adding: Vec<(UserId, Vec<UserId>)>,
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
        let Self { people, users, messages, reactions, shown, joining, adding } = self;
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
                shown.push(target.seq);
            }
            Action::Expire { targets } => messages.extend(targets.iter().map(|target| target.seq)),
            Action::AddMembers { user_ids } => {
                users.extend(user_ids);
                joining.extend(user_ids);
                adding.push((job.actor, user_ids.clone()));
            }
            Action::Join { invite } => {
                joining.push(job.actor);
                let is_used = |made: &&Invite| invite.as_ref() == Some(&made.token);
                let maker = details.invites.iter().find(is_used).map(|invite| invite.created_by);
                people.extend(maker);
                users.extend(maker);
            }
            Action::RemoveMember(user) | Action::Ban(user) | Action::SetRole(user, _) => users.push(*user),
            Action::TransferOwnership(user) => {
                people.push(*user);
                users.push(*user);
            }
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
        let (kind, is_whole, wanted) =
            live.read(|state| (state.conversation.kind, state.is_whole(), Wanted::of(batch, &state.details)));
        let Wanted { people, mut users, messages, reactions, shown, joining, adding } = wanted;
        let disabled = async {
            if people.is_empty() { Ok(Vec::new()) } else { self.store.disabled_among(&people).await }
        };
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
        let (disabled, blocked, found, reacted, hidden_from, concealed, unwilling) = tokio::try_join!(
            disabled,
            blocked,
            found,
            reacted,
            self.hidden_from(live, shown),
            self.concealed(live, joining),
            self.unwilling(live, adding)
        )?;
        let messages: HashMap<Seq, LogItem> =
            found.into_iter().flatten().map(|item| (item.entry.seq, item)).collect();
        let mut members = HashMap::new();
        if !is_whole {
            users.extend(messages.values().flat_map(Needs::of_mentioned));
            users.sort_unstable();
            users.dedup();
            let looked_up = stream::iter(users).map(|user| async move {
                Ok::<_, StoreError>((user, self.conversations.stored_member(live.id(), user).await?))
            });
            members = looked_up.buffer_unordered(READS_AT_ONCE_MAX).try_collect().await?;
        }
        let reactions =
            reactions.into_iter().zip(reacted).filter_map(|(key, reaction)| Some((key, reaction?)));
        let (disabled, reactions) = (disabled.into_iter().collect(), reactions.collect());
        Ok(Known { blocked, disabled, unwilling, members, messages, reactions, hidden_from, concealed })
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
        if shown.is_empty() {
            return Ok(HashMap::new());
        }
        let looked_up = stream::iter(shown).map(|seq| async move {
            let users = self.store.hidden_from(live.id(), seq, HIDDEN_FROM_NAMED_MAX + 1).await?;
            Ok::<_, StoreError>((seq, users))
        });
        let looked_up = looked_up.buffer_unordered(READS_AT_ONCE_MAX);
        let named = looked_up.try_filter_map(async |(seq, users)| {
            Ok(match users.len() {
                0 => None,
                1..=HIDDEN_FROM_NAMED_MAX => Some((seq, HiddenFrom::These(users))),
                _ => Some((seq, HiddenFrom::TooMany)),
            })
        });
        named.try_collect().await
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

    /// Those who have blocked the one who adds them, were blocked by them, let nobody add them, or have left for good, since it
    /// was looked whether they can be added.
    async fn unwilling(
        &self,
        live: &Live,
        adding: Vec<(UserId, Vec<UserId>)>,
    ) -> Result<HashSet<(UserId, UserId)>, StoreError> {
        let mut unwilling = HashSet::new();
        for (by, users) in adding {
            let (found, blocked, blockers) = tokio::try_join!(
                self.store.users(&users),
                self.store.blocked_among(by, &users),
                self.store.blockers_among(by, &users)
            )?;
            let refusing = found.into_iter().filter(|user| user.refuses_to_be_added_to(Some(live.id())));
            let users = refusing.map(|user| user.id).chain(blocked).chain(blockers);
            unwilling.extend(users.filter(|user| *user != by).map(|user| (by, user)));
        }
        Ok(unwilling)
    }
}
