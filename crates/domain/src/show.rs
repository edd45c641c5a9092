//! Entries and messages in their wire format, as one viewer sees them.

use std::collections::HashMap;
use std::sync::LazyLock;

use godwit_protocol::messages as wire;
use godwit_protocol::messages::{MessageKind, MessageStatus};
use godwit_protocol::{MessageId, Seq, Timestamp, UserId};

use crate::model::message::BodyParts;
use crate::model::{
    Change, ConversationState, Edited, Entry, FanOut, ItemState, LogItem, Mentions, Message, MessageBody,
    ReactionChange, ReactionCount, Target,
};
use crate::sight::{Discretion, Sight};

/// The reactions that users have now, or none, each to the message at a `seq`.
pub(crate) type ReactionsNow = HashMap<(Seq, UserId), Option<Box<str>>>;

/// The data that decides how entries look to one viewer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct View<'a> {
    pub(crate) state: &'a ConversationState,
    pub(crate) now: Timestamp,
    /// Messages whose content the entries show.
    pub(crate) referred: &'a HashMap<Seq, LogItem>,
    /// The viewer's own reactions. Empty if the entry is shown to many users.
    pub(crate) own_reactions: &'a HashMap<Seq, Box<str>>,
    /// The present reactions of the users in older `Reacted` entries. A reaction that is not among them is the present one.
    pub(crate) reactions_now: &'a ReactionsNow,
    pub(crate) sight: &'a Sight,
    pub(crate) discretion: &'a Discretion,
}

/// The other message whose content an entry shows. A viewer who cannot see that message gets less of the entry.
pub(crate) fn about(entry: &Entry) -> Option<Seq> {
    match &entry.change {
        Change::Message(message) => message.reply.map(|reply| reply.to.seq),
        change => done_to(change).map(|target| target.seq),
    }
}

/// The users whose reactions may have changed since the entry: all of them, unless the entry is the last change of its
/// message.
pub(crate) fn reacted_before<'a>(
    entry: &'a Entry,
    referred: &HashMap<Seq, LogItem>,
    now: Timestamp,
) -> impl Iterator<Item = (Seq, UserId)> + use<'a> {
    let reacted = match &entry.change {
        Change::Reacted { target, changes, .. } => {
            let may_differ = |item: &LogItem| item.state.through != entry.seq && !item.is_gone(now);
            referred.get(&target.seq).is_some_and(may_differ).then_some((target.seq, changes))
        }
        _ => None,
    };
    reacted.into_iter().flat_map(|(seq, changes)| changes.iter().map(move |change| (seq, change.user_id)))
}

/// The message that a change is about.
const fn done_to(change: &Change) -> Option<&Target> {
    match change {
        Change::Edited { target, .. }
        | Change::Reacted { target, .. }
        | Change::Deleted { target, .. }
        | Change::Pinned { target, .. }
        | Change::Unpinned { target, .. } => Some(target),
        _ => None,
    }
}

static NO_REACTIONS: LazyLock<HashMap<Seq, Box<str>>> = LazyLock::new(HashMap::new);
static NONE_OLDER: LazyLock<ReactionsNow> = LazyLock::new(HashMap::new);
static OF_NOBODY: LazyLock<Discretion> = LazyLock::new(Discretion::of_nobody);

impl<'a> View<'a> {
    /// The view that many users share of a new entry. It shows no read marks, because no user can have read the entry yet.
    pub(crate) fn of_many(
        state: &'a ConversationState,
        now: Timestamp,
        referred: &'a HashMap<Seq, LogItem>,
        sight: &'a Sight,
    ) -> Self {
        let own_reactions = &NO_REACTIONS;
        Self {
            state,
            now,
            referred,
            own_reactions,
            reactions_now: &NONE_OLDER,
            sight,
            discretion: &OF_NOBODY,
        }
    }
}

impl View<'_> {
    /// An entry that the viewer cannot see keeps its `seq`, so that the log has no gap, but loses its content.
    pub(crate) fn entry(&self, item: &LogItem) -> wire::LogEntry {
        let change = match &item.entry.change {
            Change::Message(_) if !self.sight.sees(item.entry.seq) => wire::Change::Withheld,
            _ => self.change(item),
        };
        wire::LogEntry { seq: item.entry.seq, at: item.entry.at(), change }
    }

    /// The answer to the sender of a message, also after a retry. It has no content if the sender can no longer see the
    /// message.
    pub(crate) fn sent_again(&self, item: LogItem) -> Option<wire::LogEntry> {
        let (seq, at) = (item.entry.seq, item.entry.at());
        let message = Box::new(self.sent(seq, item.entry.into_message()?, item.state));
        Some(wire::LogEntry { seq, at, change: wire::Change::Message { message } })
    }

    /// The entry as a message of the history. `None` if the history does not show it.
    pub(crate) fn message(&self, item: LogItem) -> Option<wire::Message> {
        match item.entry.change {
            Change::Message(message) => Some(self.sent(item.entry.seq, message, item.state)),
            _ => item.entry.shown.then(|| self.notice(&item)),
        }
    }

    /// Takes the message by value: texts move into the answer without a copy.
    fn sent(&self, seq: Seq, message: Message, state: ItemState) -> wire::Message {
        let is_seen = self.sight.sees(seq);
        let state = if is_seen { state } else { ItemState::default() };
        let is_gone = message.is_gone(&state, self.now) || !is_seen;
        let gone_at = state.gone.map(|gone| gone.at).or(message.expires_at).filter(|_| is_seen);
        let quote = message.reply.filter(|_| !is_gone).and_then(|reply| self.quote(reply.to));
        let reactions = if is_gone { Vec::new() } else { state.wire_reactions() };
        let edited_at = state.edited.as_ref().map(|edited| edited.at);
        let kind = message.body.kind();
        let body = if is_gone { MessageBody::Erased(kind) } else { message.body };
        let BodyParts { text, media, event, data } = body.into_parts();
        let replies = state.replies;
        let (text, mentions) = match state.into_edited() {
            _ if is_gone => (None, Mentions::default()),
            Some(edited) => {
                let Edited { text, mentions, .. } = *edited;
                (Some(text), mentions)
            }
            None => (text, message.mentions),
        };
        wire::Message {
            client_id: Some(message.client_id.into()),
            text: text.map(String::from),
            media: media.map(|media| Box::new(media.into_wire())),
            event: event.map(String::from),
            data,
            reply_to: message.reply.map(|reply| reply.to.id),
            quote,
            thread_id: message.reply.map(|reply| reply.root.id),
            forwarded_from: message
                .forwarded_from
                .filter(|_| !is_gone)
                .map(|from| wire::Forwarded { message_id: from.message_id, sender_id: from.sender_id }),
            mentions: mentions.into_wire(),
            edited_at,
            deleted_at: gone_at.filter(|_| is_gone),
            expires_at: message.expires_at.filter(|_| !is_gone),
            reactions,
            my_reaction: self.own_reactions.get(&seq).filter(|_| !is_gone).map(ToString::to_string),
            replies,
            status: self.status(seq, message.sender_id),
            ..self.blank(message.id, seq, message.sender_id, kind)
        }
    }

    /// A notice (system message).
    fn notice(&self, item: &LogItem) -> wire::Message {
        let change = &item.entry.change;
        let by = change.by().unwrap_or(UserId::new(0));
        wire::Message {
            event: change.event().map(str::to_owned),
            notice: Some(Box::new(self.change(item))),
            ..self.blank(MessageId::new(item.entry.id), item.entry.seq, by, MessageKind::System)
        }
    }

    fn blank(&self, id: MessageId, seq: Seq, sender_id: UserId, kind: MessageKind) -> wire::Message {
        wire::Message {
            id,
            conversation_id: self.state.conversation.id,
            seq,
            sender_id,
            client_id: None,
            kind,
            text: None,
            media: None,
            event: None,
            data: None,
            notice: None,
            reply_to: None,
            quote: None,
            thread_id: None,
            forwarded_from: None,
            mentions: wire::Mentions::default(),
            created_at: id.timestamp(),
            edited_at: None,
            deleted_at: None,
            expires_at: None,
            reactions: Vec::new(),
            my_reaction: None,
            replies: 0,
            status: MessageStatus::Sent,
        }
    }

    fn quote(&self, target: Target) -> Option<Box<wire::Quote>> {
        let item = self.referred.get(&target.seq).filter(|_| self.sight.sees(target.seq))?;
        let (message, state) = item.message()?;
        let is_gone = message.is_gone(state, self.now);
        let preview = match &state.edited {
            _ if is_gone => Box::default(),
            Some(edited) => crate::model::message::preview_of(&edited.text),
            None => message.body.preview(),
        };
        Some(Box::new(wire::Quote {
            message_id: target.id,
            seq: target.seq,
            sender_id: message.sender_id,
            kind: message.body.kind(),
            preview: preview.into(),
            deleted: is_gone,
        }))
    }

    /// True if the message still has the content of this edit. Earlier versions are visible only through `/edits`, and a
    /// client that replays the log does not need them.
    fn is_current_edit(&self, edit: Seq, target: Target) -> bool {
        self.referred.get(&target.seq).is_none_or(|item| {
            !item.is_gone(self.now) && item.state.edits.last().is_none_or(|latest| *latest <= edit)
        })
    }

    fn is_gone(&self, target: Target) -> bool {
        self.referred.get(&target.seq).is_some_and(|item| item.is_gone(self.now))
    }

    fn status(&self, seq: Seq, sender: UserId) -> MessageStatus {
        self.discretion.status(self.state.status(seq, sender))
    }

    /// What is left of a change of reactions: the present reactions of the users, and the present counts. A deleted or expired
    /// message has no reactions.
    fn reacted(&self, target: Target, changes: &[ReactionChange], counts: &[ReactionCount]) -> wire::Change {
        let now = |change: &ReactionChange| wire::ReactionChange {
            user_id: change.user_id,
            reaction: self
                .reactions_now
                .get(&(target.seq, change.user_id))
                .unwrap_or(&change.to)
                .as_deref()
                .map(str::to_owned),
        };
        let is_gone = self.is_gone(target);
        let names_users = !is_gone && self.state.details.fan_out == FanOut::OnWrite;
        let counts = match self.referred.get(&target.seq) {
            _ if is_gone => &[],
            Some(item) => &*item.state.reactions,
            None => counts,
        };
        wire::Change::Reacted {
            message_id: target.id,
            message_seq: target.seq,
            changes: if names_users { changes.iter().map(now).collect() } else { Vec::new() },
            reactions: counts.iter().map(ReactionCount::to_wire).collect(),
        }
    }

    fn change(&self, item: &LogItem) -> wire::Change {
        use wire::Change as Wire;
        match &item.entry.change {
            change if done_to(change).is_some_and(|target| !self.sight.sees(target.seq)) => Wire::Withheld,
            Change::Created(created) => Wire::Created {
                by: created.by,
                kind: created.kind,
                name: Some(created.name.to_string()).filter(|name| !name.is_empty()),
                member_ids: created.member_ids.clone(),
            },
            Change::Message(message) => {
                let message = self.sent(item.entry.seq, message.clone(), item.state.clone());
                Wire::Message { message: Box::new(message) }
            }
            Change::Edited { by, target, text, mentions } => {
                let text = text.as_deref().filter(|_| self.is_current_edit(item.entry.seq, *target));
                Wire::Edited {
                    by: *by,
                    message_id: target.id,
                    message_seq: target.seq,
                    mentions: text.map(|_| mentions.clone().into_wire()).unwrap_or_default(),
                    text: text.map(str::to_owned),
                }
            }
            Change::Deleted { by, target } => {
                Wire::Deleted { by: *by, message_id: target.id, message_seq: target.seq }
            }
            Change::Expired { targets } => {
                Wire::Expired { message_ids: targets.iter().map(|target| target.id).collect() }
            }
            Change::Reacted { target, changes, counts } => self.reacted(*target, changes, counts),
            Change::MembersAdded { by, user_ids, .. } => {
                Wire::MembersAdded { by: *by, user_ids: user_ids.clone() }
            }
            Change::MemberJoined { user_id, .. } => Wire::MemberJoined { user_id: *user_id },
            Change::MemberLeft { user_id } => Wire::MemberLeft { user_id: *user_id },
            Change::MemberRemoved { by, user_id } => Wire::MemberRemoved { by: *by, user_id: *user_id },
            Change::MemberBanned { by, user_id, was_member } => {
                Wire::MemberBanned { by: *by, user_id: *user_id, was_member: *was_member }
            }
            Change::MemberUnbanned { by, user_id } => Wire::MemberUnbanned { by: *by, user_id: *user_id },
            Change::RoleChanged { by, user_id, role } => {
                Wire::RoleChanged { by: *by, user_id: *user_id, role: *role }
            }
            Change::OwnershipTransferred { by, user_id } => {
                Wire::OwnershipTransferred { by: *by, user_id: *user_id }
            }
            Change::DetailsChanged { by, change } => {
                Wire::DetailsChanged { by: *by, details: Box::new(change.to_wire()) }
            }
            Change::Pinned { by, target } => {
                Wire::Pinned { by: *by, message_id: target.id, message_seq: target.seq }
            }
            Change::Unpinned { by, target } => {
                Wire::Unpinned { by: *by, message_id: target.id, message_seq: target.seq }
            }
            Change::InviteCreated { invite } => {
                Wire::InviteCreated { by: invite.created_by, invite_id: invite.id }
            }
            Change::InviteRevoked { by, invite_id } => Wire::InviteRevoked { by: *by, invite_id: *invite_id },
            Change::ConversationDeleted { by } => Wire::ConversationDeleted { by: *by },
        }
    }
}
