//! The fold: applies entries to a conversation, one after the other, and collects their effects.

mod mentions;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use godwit_protocol::conversations::Role;
use godwit_protocol::sync::GoneReason;
use godwit_protocol::{Seq, Timestamp, UserId};

use super::effects::{Effects, Expiry, InviteWrite, MemberWrite, ReactionWrite, ThreadReply, Unlisting};
use crate::model::{
    Ban, Change, Concealed, Conversation, ConversationState, Created, Cursor, Details, Edited, Entry, FanOut,
    Gone, Head, Invite, JoiningTerms, LogItem, Member, Mentions, Message, Pin, Target,
};
use crate::ports::CursorMove;

/// The data that a fold needs before it can apply an entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Needs {
    /// Members, if the conversation is fanned out on read.
    pub members: Vec<UserId>,
    /// Messages with their states.
    pub messages: Vec<Seq>,
}

/// A conversation while entries are appended to its log.
#[derive(Debug)]
pub struct Fold<'a> {
    conversation: &'a Conversation,
    before: &'a [Member],
    details: Arc<Details>,
    head: Head,
    /// Members that the caller loaded or the fold changed. `None` for a user who is not a member.
    members: HashMap<UserId, Option<Member>>,
    messages: HashMap<Seq, LogItem>,
    /// The entries that a user concealed during an earlier membership and that stay concealed after joining again.
    concealed: HashMap<UserId, Concealed>,
    changed: Changed,
    reactions: BTreeMap<(Seq, UserId), ReactionWrite>,
    cursors: Vec<CursorMove>,
    replies: Vec<ThreadReply>,
    expiries: Vec<Expiry>,
    invites: Vec<InviteWrite>,
    list: BTreeSet<UserId>,
    unlist: BTreeMap<UserId, Unlisting>,
}

#[derive(Debug, Default)]
struct Changed {
    details: bool,
    shown: bool,
    /// The last entry is not shown.
    quietly: bool,
    crossed: bool,
    members: BTreeSet<UserId>,
    messages: BTreeSet<Seq>,
    erase: BTreeSet<Seq>,
}

impl Needs {
    pub fn of(entry: &Entry) -> Self {
        let mut needs = Self {
            members: Vec::new(),
            messages: entry.change.targets().iter().map(|target| target.seq).collect(),
        };
        match &entry.change {
            Change::Message(message) => {
                needs.members.push(message.sender_id);
                needs.members.extend(&message.mentions.users);
                needs.messages.extend(message.reply.map(|reply| reply.root.seq));
            }
            Change::Edited { mentions, .. } => needs.members.extend(&mentions.users),
            Change::RoleChanged { user_id, .. } => needs.members.push(*user_id),
            Change::OwnershipTransferred { by, user_id } => needs.members.extend([*by, *user_id]),
            _ => {}
        }
        needs
    }

    /// A change of a message also needs the members that the message mentions.
    pub fn of_mentioned(item: &LogItem) -> impl Iterator<Item = UserId> {
        item.message().into_iter().flat_map(|(message, state)| message.current_mentions(state).users.clone())
    }
}

impl<'a> Fold<'a> {
    pub fn new(state: &'a ConversationState) -> Self {
        Self {
            conversation: &state.conversation,
            before: &state.members,
            details: state.details.clone(),
            head: state.head.clone(),
            members: HashMap::new(),
            messages: HashMap::new(),
            concealed: HashMap::new(),
            changed: Changed::default(),
            reactions: BTreeMap::new(),
            cursors: Vec::new(),
            replies: Vec::new(),
            expiries: Vec::new(),
            invites: Vec::new(),
            list: BTreeSet::new(),
            unlist: BTreeMap::new(),
        }
    }

    /// Adds a member. Conversations that are fanned out on read do not have all members in their state.
    pub fn know_member(&mut self, user: UserId, member: Option<Member>) {
        self.members.entry(user).or_insert(member);
    }

    /// Adds the entries that a joining user concealed during an earlier membership.
    pub fn know_concealed(&mut self, user: UserId, concealed: Concealed) {
        self.concealed.insert(user, concealed);
    }

    pub fn know_message(&mut self, item: LogItem) {
        self.messages.entry(item.entry.seq).or_insert(item);
    }

    pub fn conversation(&self) -> &Conversation {
        self.conversation
    }

    pub fn details(&self) -> &Details {
        &self.details
    }

    pub const fn head(&self) -> &Head {
        &self.head
    }

    pub fn member(&self, user: UserId) -> Option<&Member> {
        match self.members.get(&user) {
            Some(known) => known.as_ref(),
            None => self.before.binary_search_by_key(&user, |m| m.user_id).ok().map(|i| &self.before[i]),
        }
    }

    pub fn message(&self, seq: Seq) -> Option<&LogItem> {
        self.messages.get(&seq)
    }

    /// The entry that a change would become if it came next.
    pub fn next_entry(&self, id: u64, change: Change) -> Entry {
        let is_message = matches!(change, Change::Message(_));
        Entry {
            seq: self.head.seq.next(),
            id,
            ordinal: self.head.ordinal + u64::from(is_message),
            shown: change.is_shown(self.conversation.wire_kind(), self.details.fan_out),
            change,
        }
    }

    pub fn apply(&mut self, entry: &Entry) {
        self.head.advance(entry);
        self.changed.shown |= entry.shown;
        // The creation counts as activity of a new conversation, although it is not shown.
        self.changed.quietly = !entry.shown && !matches!(entry.change, Change::Created(_));
        match &entry.change {
            Change::Created(created) => self.created(entry, created),
            Change::Message(message) => self.sent(entry, message),
            Change::Edited { target, text, mentions, .. } => {
                self.edited(entry, *target, text.as_deref(), mentions);
            }
            Change::Deleted { by, target } => self.gone(entry, *target, Some(*by)),
            Change::Expired { targets } => targets.iter().for_each(|target| self.gone(entry, *target, None)),
            Change::Reacted { target, changes, .. } => {
                if let Some(item) = self.state_before(entry, target.seq) {
                    item.state.react(changes);
                }
                for change in changes {
                    let write = ReactionWrite {
                        seq: target.seq,
                        user_id: change.user_id,
                        reaction: change.to.clone(),
                        at: entry.at(),
                    };
                    self.reactions.insert((target.seq, change.user_id), write);
                }
            }
            Change::MembersAdded { by, user_ids, terms } => {
                user_ids.iter().for_each(|user| self.joined(entry, *user, Some(*by), *terms));
                self.count_members(entry, i64::try_from(user_ids.len()).unwrap_or(0), *terms);
            }
            Change::MemberJoined { user_id, invite, terms } => {
                self.joined(entry, *user_id, None, *terms);
                self.count_members(entry, 1, *terms);
                self.details_before(entry, |details| {
                    if let Some(used) = details.invites.iter_mut().find(|i| Some(i.id) == *invite) {
                        used.uses += 1;
                    }
                });
            }
            Change::MemberLeft { user_id } | Change::MemberRemoved { user_id, .. } => {
                self.left(entry, *user_id);
            }
            Change::MemberBanned { by, user_id, was_member } => {
                if *was_member {
                    self.left(entry, *user_id);
                }
                let ban = Ban { user_id: *user_id, by: *by, at: entry.at() };
                self.details_before(entry, |details| details.ban(ban));
            }
            Change::MemberUnbanned { user_id, .. } => {
                self.details_before(entry, |details| details.unban(*user_id));
            }
            Change::RoleChanged { user_id, role, .. } => self.role_changed(entry, *user_id, *role),
            Change::OwnershipTransferred { by, user_id } => {
                self.role_changed(entry, *user_id, Role::Owner);
                self.role_changed(entry, *by, Role::Admin);
            }
            Change::DetailsChanged { change, .. } => self.details_before(entry, |details| {
                details.change((**change).clone());
                details.updated_at = entry.at();
            }),
            Change::Pinned { by, target } => {
                let pin = Pin { message_id: target.id, seq: target.seq, by: *by, at: entry.at() };
                self.details_before(entry, |details| {
                    details.pins.retain(|pin| pin.seq != target.seq);
                    details.pins.insert(0, pin);
                });
            }
            Change::Unpinned { target, .. } => {
                self.details_before(entry, |details| details.pins.retain(|pin| pin.seq != target.seq));
            }
            Change::InviteCreated { invite } => self.invited(entry, invite),
            Change::InviteRevoked { invite_id, .. } => {
                if let Some(invite) = self.details.invite(*invite_id) {
                    self.invites.push(InviteWrite { token: invite.token.clone(), usable: false });
                }
                self.details_before(entry, |details| {
                    details.invites.retain(|invite| invite.id != *invite_id);
                });
            }
            Change::ConversationDeleted { .. } => self.deleted(entry),
        }
    }

    pub fn finish(mut self) -> Effects {
        let whole = self.details.fan_out == FanOut::OnWrite;
        let everybody = || {
            let mut everybody: BTreeSet<UserId> = self.before.iter().map(|member| member.user_id).collect();
            for (user, member) in &self.members {
                if member.is_some() {
                    everybody.insert(*user);
                } else {
                    everybody.remove(user);
                }
            }
            everybody
        };
        let is_deleted = self.details.deleted_at.is_some();
        let follows = self.changed.shown && whole && !is_deleted;
        let follow: Vec<UserId> = if follows { everybody().into_iter().collect() } else { Vec::new() };
        let touches = self.changed.quietly && whole && !is_deleted;
        let touch = if touches { everybody().into_iter().collect() } else { Vec::new() };
        let cross = if self.changed.crossed { everybody().into_iter().collect() } else { Vec::new() };
        for user in &follow {
            if let Some(mut member) = self.member(*user).filter(|member| member.unlisted).cloned() {
                member.unlisted = false;
                self.put_member(member);
                self.list.insert(*user);
            }
        }
        let (members, mut messages) = (&mut self.members, self.messages);
        let members = self.changed.members.iter().filter_map(|user| {
            Some(match members.remove(user)? {
                Some(member) => MemberWrite::Put(member),
                None => MemberWrite::Remove(*user),
            })
        });
        Effects {
            members: members.collect(),
            messages: self
                .changed
                .messages
                .iter()
                .filter_map(|seq| Some((*seq, messages.remove(seq)?.state.into())))
                .collect(),
            erase: self.changed.erase.into_iter().collect(),
            details: self.changed.details.then_some(self.details),
            head: self.head,
            reactions: self.reactions.into_values().collect(),
            replies: self.replies,
            expiries: self.expiries,
            invites: self.invites,
            cursors: self.cursors,
            follow,
            touch,
            list: self.list.into_iter().collect(),
            unlist: self.unlist.into_values().collect(),
            cross,
        }
    }

    fn created(&mut self, entry: &Entry, created: &Created) {
        let is_direct = self.conversation.kind.is_direct();
        for user in &created.member_ids {
            let is_maker = *user == created.by;
            let role = if is_maker && !is_direct { Role::Owner } else { Role::Member };
            self.put_member(Member {
                user_id: *user,
                role,
                joined_at: entry.at(),
                added_by: (!is_direct && !is_maker).then_some(created.by),
                visible_from: Seq::ZERO,
                unlisted: is_direct && !is_maker,
                cursor: Cursor::default(),
                concealed: Concealed::default(),
                moved_at: Timestamp::default(),
                mentions: Vec::new(),
            });
            if is_maker || !is_direct {
                self.list.insert(*user);
            }
        }
        self.details_before(entry, |details| {
            details.name.clone_from(&created.name);
            details.description.clone_from(&created.description);
            details.image.clone_from(&created.image);
            details.permissions = created.permissions;
            details.history = created.history;
            details.fan_out = created.fan_out;
            details.member_count = created.member_ids.len() as u32;
            if !is_direct {
                details.set_role(created.by, Some(Role::Owner));
            }
        });
    }

    fn sent(&mut self, entry: &Entry, message: &Message) {
        self.move_cursor(message.sender_id, Cursor::at(entry.seq, entry.ordinal), entry.at());
        self.mention(entry, entry.seq, message.sender_id, &message.mentions);
        let sender = message.sender_id;
        if self.conversation.kind.is_direct() && !self.details.writers.contains(&sender) {
            self.details_before(entry, |details| details.writers.push(sender));
        }
        if let Some(at) = message.expires_at {
            self.expiries.push(Expiry { at, seq: entry.seq });
        }
        let Some(reply) = message.reply else { return };
        if let Some(root) = self.state_before(entry, reply.root.seq) {
            root.state.replies += 1;
            let number = root.state.replies;
            self.replies.push(ThreadReply { root: reply.root.seq, number, seq: entry.seq });
        }
    }

    fn edited(&mut self, entry: &Entry, target: Target, text: Option<&str>, mentions: &Mentions) {
        if let Some(item) = self.state_before(entry, target.seq) {
            if item.state.gone.is_some() {
                return;
            }
            item.state.edits.push(entry.seq);
            // The text is missing when a message that was deleted later is folded again. The later deletion clears this
            // empty text.
            let text = text.unwrap_or_default().into();
            let edited = Edited { at: entry.at(), text, mentions: mentions.clone() };
            item.state.edited = Some(Box::new(edited));
        }
        // Runs even if the edit was folded before: folding the message again restores the mentions of its first version.
        self.unmention(entry, target.seq);
        let Some((current, sender)) = self.mentions_of(target.seq) else { return };
        self.mention(entry, target.seq, sender, &current);
    }

    fn gone(&mut self, entry: &Entry, target: Target, by: Option<UserId>) {
        self.unmention(entry, target.seq);
        if let Some(item) = self.state_before(entry, target.seq) {
            item.state.erase(Gone { at: entry.at(), by });
        }
        if let Some(item) = self.messages.get(&target.seq) {
            self.changed.erase.insert(target.seq);
            self.changed.erase.extend(&item.state.edits);
        }
        if self.details.pins.iter().any(|pin| pin.seq == target.seq) {
            self.details_before(entry, |details| details.pins.retain(|pin| pin.seq != target.seq));
        }
    }

    fn joined(&mut self, entry: &Entry, user: UserId, added_by: Option<UserId>, terms: JoiningTerms) {
        let cursor = Cursor::at(entry.seq, entry.ordinal);
        self.put_member(Member {
            user_id: user,
            role: Role::Member,
            joined_at: entry.at(),
            added_by,
            visible_from: terms.visible_from,
            unlisted: false,
            cursor,
            concealed: self.concealed.get(&user).copied().unwrap_or_default(),
            moved_at: entry.at(),
            mentions: Vec::new(),
        });
        self.move_cursor(user, cursor, entry.at());
        self.unlist.remove(&user);
        self.list.insert(user);
    }

    fn left(&mut self, entry: &Entry, user: UserId) {
        self.members.insert(user, None);
        self.changed.members.insert(user);
        self.cursors.retain(|moved| moved.user_id != user);
        self.list.remove(&user);
        self.unlist.insert(user, Unlisting { user_id: user, seq: entry.seq, reason: GoneReason::Removed });
        // The invites of a member who leaves are revoked. If the details are newer than the entry, the invites in them were
        // created after the user returned.
        if !self.details_have(entry) {
            let made = self.details.invites.iter().filter(|invite| invite.created_by == user);
            self.invites.extend(made.map(|made| InviteWrite { token: made.token.clone(), usable: false }));
        }
        self.details_before(entry, |details| {
            details.member_count = details.member_count.saturating_sub(1);
            details.set_role(user, None);
            details.invites.retain(|invite| invite.created_by != user);
        });
    }

    fn count_members(&mut self, entry: &Entry, more: i64, terms: JoiningTerms) {
        self.details_before(entry, |details| {
            details.member_count = u32::try_from(i64::from(details.member_count) + more).unwrap_or(0);
            if let Some(fan_out) = terms.crosses_to {
                details.fan_out = fan_out;
            }
        });
        self.changed.crossed |= terms.crosses_to.is_some();
    }

    fn role_changed(&mut self, entry: &Entry, user: UserId, role: Role) {
        if let Some(mut member) = self.member(user).cloned() {
            member.role = role;
            self.put_member(member);
        }
        self.details_before(entry, |details| details.set_role(user, Some(role)));
    }

    fn deleted(&mut self, entry: &Entry) {
        // In a conversation that is fanned out on read, the rows stay, whichever members are loaded: readers check the state
        // of the conversation itself.
        if self.details.fan_out == FanOut::OnWrite {
            let joined = self.members.values().flatten();
            for member in self.before.iter().chain(joined) {
                let (user_id, seq) = (member.user_id, entry.seq);
                let unlisting = Unlisting { user_id, seq, reason: GoneReason::Deleted };
                self.unlist.entry(user_id).or_insert(unlisting);
            }
            self.list.clear();
        }
        for invite in &self.details.invites {
            self.invites.push(InviteWrite { token: invite.token.clone(), usable: false });
        }
        self.details_before(entry, |details| {
            details.deleted_at = Some(entry.at());
            details.invites.clear();
        });
    }

    fn put_member(&mut self, member: Member) {
        self.changed.members.insert(member.user_id);
        self.members.insert(member.user_id, Some(member));
    }

    fn move_cursor(&mut self, user_id: UserId, cursor: Cursor, at: Timestamp) {
        let moved = CursorMove { conversation: self.conversation.id, user_id, cursor, at };
        match self.cursors.iter_mut().find(|earlier| earlier.user_id == user_id) {
            Some(earlier) => *earlier = moved,
            None => self.cursors.push(moved),
        }
    }

    /// The message that the entry changes. `None` if the message has already taken in the entry.
    fn state_before(&mut self, entry: &Entry, seq: Seq) -> Option<&mut LogItem> {
        let item = self.messages.get_mut(&seq).filter(|item| item.state.through < entry.seq)?;
        item.state.through = entry.seq;
        self.changed.messages.insert(seq);
        Some(item)
    }

    fn invited(&mut self, entry: &Entry, invite: &Invite) {
        if self.details_have(entry) {
            // The details are newer than the entry. An invite that is used up or expired by now was usable then, and an
            // invite that is missing was revoked.
            if self.details.invite(invite.id).is_some() {
                self.invites.push(InviteWrite { token: invite.token.clone(), usable: true });
            }
            return;
        }
        // Expired and used-up invites make room for the new one.
        let is_usable = |invite: &Invite| invite.is_usable(entry.at());
        let over = self.details.invites.iter().filter(|invite| !is_usable(invite));
        self.invites.extend(over.map(|over| InviteWrite { token: over.token.clone(), usable: false }));
        self.invites.push(InviteWrite { token: invite.token.clone(), usable: true });
        self.details_before(entry, |details| {
            details.invites.retain(is_usable);
            details.invites.push(invite.clone());
        });
    }

    /// True if the details already include the change of the entry.
    fn details_have(&self, entry: &Entry) -> bool {
        // One entry may change the details in several steps.
        self.details.through > entry.seq || (self.details.through == entry.seq && !self.changed.details)
    }

    /// Changes the details, unless they already include the entry.
    fn details_before(&mut self, entry: &Entry, change: impl FnOnce(&mut Details)) {
        if self.details_have(entry) {
            return;
        }
        let details = Arc::make_mut(&mut self.details);
        change(details);
        details.through = entry.seq;
        self.changed.details = true;
    }
}
