//! The facts that a batch needs, computed from its jobs before they are read.

use godwit_protocol::{Seq, UserId};

use crate::actions::action::Action;
use crate::actions::job::Job;
use crate::model::{Details, Invite};

/// The data to read before a batch can be decided.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    /// Users whose accounts may be disabled.
    pub(super) people: Vec<UserId>,
    /// Users who may be members.
    pub(super) users: Vec<UserId>,
    pub(super) messages: Vec<Seq>,
    pub(super) reactions: Vec<(Seq, UserId)>,
    /// Messages whose content the new entries show.
    pub(super) shown: Vec<Seq>,
    pub(super) joining: Vec<UserId>,
    /// Users who add others, with the users they add.
    pub(super) adding: Vec<(UserId, Vec<UserId>)>,
}

impl Wanted {
    /// Users, messages and reactions are sorted and distinct.
    pub(super) fn of(jobs: &[Job], details: &Details) -> Self {
        let mut wanted = Self::default();
        jobs.iter().for_each(|job| wanted.add(job, details));
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
