//! Writes the effects of an append.

use godwit_domain::model::{AccountEntry, AccountNote, Cursor, FanOut, Member};
use godwit_domain::ports::{CursorMove, StoredReaction, change_time};
use godwit_domain::projection::{Effects, MemberWrite, ReactionWrite};
use godwit_protocol::{ConversationId, MessageId, Timestamp, UserId};

use super::{Log, State};

impl State {
    /// Applies effects to a conversation that has their entries already. Returns the new account log entries.
    pub(super) fn apply(&mut self, id: ConversationId, effects: &Effects) -> Vec<(UserId, AccountEntry)> {
        let at = MessageId::new(effects.head.id).timestamp();
        for invite in &effects.invites {
            if invite.usable {
                self.invites.insert(invite.token.clone(), id);
            } else {
                self.invites.remove(&invite.token);
            }
        }
        self.expiries.extend(effects.expiries.iter().map(|expiry| (expiry.at, id, expiry.seq)));
        if let Some(log) = self.logs.get_mut(&id) {
            log.apply(effects);
            if !effects.touch.is_empty() {
                log.touch(at);
            }
        }
        self.apply_to_inboxes(id, effects, at)
    }

    fn apply_to_inboxes(
        &mut self,
        id: ConversationId,
        effects: &Effects,
        at: Timestamp,
    ) -> Vec<(UserId, AccountEntry)> {
        let mut notes = Vec::new();
        let mut write = |state: &mut Self, note: AccountNote| {
            notes.push((note.user_id, state.write_note(note)));
        };
        // A follower has a row, even one who removed it after the effects were computed.
        for &user in effects.list.iter().chain(&effects.follow) {
            if self.list(user, id) {
                write(self, AccountNote::listed(user, id, at));
            }
        }
        for &user in &effects.cross {
            self.listed.remove(&(user, id));
            self.large.insert((user, id));
        }
        for unlisting in &effects.unlist {
            let user = unlisting.user_id;
            self.listed.remove(&(user, id));
            self.large.remove(&(user, id));
            self.settings.remove(&(user, id));
            write(self, unlisting.note(id, at));
        }
        notes
    }

    /// True if the conversation was not listed before.
    fn list(&mut self, user: UserId, id: ConversationId) -> bool {
        let Some(log) = self.logs.get_mut(&id) else { return false };
        if let Some(member) = log.members.get_mut(&user) {
            member.unlisted = false;
        }
        match log.details.fan_out {
            FanOut::OnWrite => self.listed.insert((user, id)),
            FanOut::OnRead => !self.listed.contains(&(user, id)) && self.large.insert((user, id)),
        }
    }
}

impl Log {
    fn apply(&mut self, effects: &Effects) {
        self.head = effects.head.clone();
        if let Some(details) = &effects.details {
            self.details = details.clone();
        }
        for write in &effects.members {
            self.write_member(write);
        }
        self.messages.extend(effects.messages.iter().cloned());
        for entry in self.entries.iter_mut().filter(|entry| effects.erase.contains(&entry.seq)) {
            entry.change.erase();
        }
        for write in &effects.reactions {
            self.write_reaction(write);
        }
        for reply in &effects.replies {
            self.replies.insert((reply.root, reply.number), reply.seq);
        }
        for moved in &effects.cursors {
            self.move_cursor(*moved);
        }
    }

    fn write_member(&mut self, write: &MemberWrite) {
        match write {
            MemberWrite::Put(member) => {
                let before = self.members.get(&member.user_id);
                let (cursor, moved_at) =
                    before.map_or_else(Default::default, |before| (before.cursor, before.moved_at));
                // A member who cleared the conversation after the effects were computed gets it back when it is listed.
                let unlisted = member.unlisted || before.is_some_and(|before| before.unlisted);
                self.members.insert(member.user_id, Member { cursor, moved_at, unlisted, ..member.clone() });
            }
            MemberWrite::Remove(user) => drop(self.members.remove(user)),
        }
    }

    fn write_reaction(&mut self, write: &ReactionWrite) {
        let key = (write.seq, write.user_id);
        match &write.reaction {
            Some(reaction) => {
                let stored =
                    StoredReaction { user_id: write.user_id, reaction: reaction.clone(), at: write.at };
                self.reactions.insert(key, stored);
            }
            None => drop(self.reactions.remove(&key)),
        }
    }

    pub(super) fn touch(&mut self, at: Timestamp) {
        self.changed_at = self.changed_at.max(change_time(at));
    }

    /// The cursor before and after the move, if it moved.
    pub(super) fn move_cursor(&mut self, moved: CursorMove) -> Option<(Cursor, Cursor)> {
        let member = self.members.get_mut(&moved.user_id)?;
        let before = member.cursor;
        member.move_to(moved.cursor, moved.at);
        let after = member.cursor;
        if after == before {
            return None;
        }
        self.moves.push(CursorMove { cursor: after, ..moved });
        Some((before, after))
    }
}
