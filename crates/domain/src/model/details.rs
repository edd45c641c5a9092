//! The details of a conversation: everything except its messages and members. They are a projection of the log.

use godwit_protocol::conversations::{
    EditsVisibleTo, HistoryVisibility, Permissions, Role, UpdateConversation, UpdatePermissions,
};
use godwit_protocol::groups as wire;
use godwit_protocol::limits::{
    CONVERSATION_IMAGE_BYTES_MAX, CONVERSATION_NAME_CHARS_MAX, DESCRIPTION_CHARS_MAX, INVITE_TOKEN_CHARS,
    INVITE_USES_MAX, MESSAGE_TTL_SECS_MAX, MESSAGE_TTL_SECS_MIN,
};
use godwit_protocol::messages::ChangedDetails;
use godwit_protocol::{ConversationId, InviteId, MessageId, Seq, Timestamp, UserId};
use serde::{Deserialize, Serialize};

use super::field::{self, InvalidField};
use super::message::ClientId;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Details {
    /// The last entry that these details include.
    pub through: Seq,
    pub updated_at: Timestamp,
    /// Empty in a direct conversation, which shows the name of the other person.
    pub name: Box<str>,
    pub description: Option<Box<str>>,
    pub image: Option<Box<str>>,
    pub permissions: Permissions,
    pub history: HistoryVisibility,
    pub edits_visible_to: EditsVisibleTo,
    /// The lifetime of messages that are sent from now on, in seconds.
    pub message_ttl_secs: Option<u32>,
    pub member_count: u32,
    /// Owners and admins, sorted by id.
    pub staff: Vec<(UserId, Role)>,
    pub fan_out: FanOut,
    /// Pins, the latest first.
    pub pins: Vec<Pin>,
    /// Invites that are not revoked and whose creators are still members, the oldest first.
    pub invites: Vec<Invite>,
    /// Users who cannot become members, sorted by id.
    pub bans: Vec<Ban>,
    /// The latest messages that mention everybody, the oldest first.
    pub mentions_of_all: Vec<MentionOfAll>,
    /// In a direct conversation: the users who have ever sent a message in it.
    pub writers: Vec<UserId>,
    /// When the conversation was deleted for all.
    pub deleted_at: Option<Timestamp>,
}

/// How a message reaches the inboxes of the members.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum FanOut {
    /// An append writes the row of every member.
    OnWrite,
    /// There are too many members, so the server computes their rows on read. A conversation never goes back to `OnWrite`.
    OnRead,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pin {
    pub message_id: MessageId,
    pub seq: Seq,
    pub by: UserId,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MentionOfAll {
    pub seq: Seq,
    pub by: UserId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ban {
    pub user_id: UserId,
    pub by: UserId,
    pub at: Timestamp,
}

/// A link through which users join.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Invite {
    pub id: InviteId,
    /// The secret part of the link.
    pub token: InviteToken,
    /// The idempotency key, which the creator's client chooses.
    pub client_id: Option<ClientId>,
    pub created_by: UserId,
    pub created_at: Timestamp,
    pub expires_at: Option<Timestamp>,
    pub uses_max: Option<u32>,
    pub uses: u32,
}

/// A secret that cannot be guessed: a user who has it may join.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct InviteToken(Box<str>);

/// The new values of the details; `None` keeps a value as it is.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DetailsChange {
    pub name: Option<Box<str>>,
    pub description: Option<Option<Box<str>>>,
    pub image: Option<Option<Box<str>>>,
    pub permissions: Option<Permissions>,
    pub history: Option<HistoryVisibility>,
    pub edits_visible_to: Option<EditsVisibleTo>,
    pub message_ttl_secs: Option<Option<u32>>,
}

impl Details {
    /// The details of a new conversation.
    pub fn new(created_at: Timestamp, permissions: Permissions) -> Self {
        Self {
            through: Seq::ZERO,
            updated_at: created_at,
            name: Box::default(),
            description: None,
            image: None,
            permissions,
            history: HistoryVisibility::All,
            edits_visible_to: EditsVisibleTo::Members,
            message_ttl_secs: None,
            member_count: 0,
            staff: Vec::new(),
            fan_out: FanOut::OnWrite,
            pins: Vec::new(),
            invites: Vec::new(),
            bans: Vec::new(),
            mentions_of_all: Vec::new(),
            writers: Vec::new(),
            deleted_at: None,
        }
    }

    pub fn change(&mut self, change: DetailsChange) {
        fn set<T>(field: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *field = value;
            }
        }
        set(&mut self.name, change.name);
        set(&mut self.description, change.description);
        set(&mut self.image, change.image);
        set(&mut self.permissions, change.permissions);
        set(&mut self.history, change.history);
        set(&mut self.edits_visible_to, change.edits_visible_to);
        set(&mut self.message_ttl_secs, change.message_ttl_secs);
    }

    pub fn owners(&self) -> impl Iterator<Item = UserId> {
        self.staff.iter().filter(|(_, role)| *role == Role::Owner).map(|(user, _)| *user)
    }

    /// Records the role of a user; `None` for a user who is no longer a member.
    pub fn set_role(&mut self, user: UserId, role: Option<Role>) {
        let place = self.staff.binary_search_by_key(&user, |(user, _)| *user);
        match (place, role.filter(|role| *role != Role::Member)) {
            (Ok(i), Some(role)) => self.staff[i].1 = role,
            (Ok(i), None) => drop(self.staff.remove(i)),
            (Err(i), Some(role)) => self.staff.insert(i, (user, role)),
            (Err(_), None) => {}
        }
    }

    pub fn is_banned(&self, user: UserId) -> bool {
        self.bans.binary_search_by_key(&user, |ban| ban.user_id).is_ok()
    }

    pub fn ban(&mut self, ban: Ban) {
        if let Err(place) = self.bans.binary_search_by_key(&ban.user_id, |ban| ban.user_id) {
            self.bans.insert(place, ban);
        }
    }

    pub fn unban(&mut self, user: UserId) {
        self.bans.retain(|ban| ban.user_id != user);
    }

    pub fn invite(&self, id: InviteId) -> Option<&Invite> {
        self.invites.iter().find(|invite| invite.id == id)
    }
}

impl DetailsChange {
    pub fn parse(update: &UpdateConversation, current: Permissions) -> Result<Self, InvalidField> {
        Ok(Self {
            name: update.name.as_deref().map(parse_name).transpose()?,
            description: update
                .description
                .as_ref()
                .map(|description| description.as_deref().map(parse_description).transpose())
                .transpose()?,
            image: update
                .image
                .as_ref()
                .map(|image| image.as_deref().map(parse_image).transpose())
                .transpose()?,
            permissions: update.permissions.map(|update| updated_permissions(current, update)),
            history: update.history,
            edits_visible_to: update.edits_visible_to,
            message_ttl_secs: update
                .message_ttl_secs
                .map(|ttl| ttl.map(parse_ttl).transpose())
                .transpose()?,
        })
    }

    /// The change without values that are already set.
    #[must_use]
    pub fn relative_to(self, details: &Details) -> Self {
        fn differing<T: PartialEq>(value: Option<T>, current: &T) -> Option<T> {
            value.filter(|value| value != current)
        }
        Self {
            name: differing(self.name, &details.name),
            description: differing(self.description, &details.description),
            image: differing(self.image, &details.image),
            permissions: differing(self.permissions, &details.permissions),
            history: differing(self.history, &details.history),
            edits_visible_to: differing(self.edits_visible_to, &details.edits_visible_to),
            message_ttl_secs: differing(self.message_ttl_secs, &details.message_ttl_secs),
        }
    }

    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// True if the change affects more than the appearance of the conversation.
    pub const fn is_about_rules(&self) -> bool {
        self.permissions.is_some() || self.history.is_some() || self.edits_visible_to.is_some()
    }

    /// True if the change affects properties that only groups and channels have.
    pub const fn is_about_groups(&self) -> bool {
        self.name.is_some() || self.description.is_some() || self.image.is_some() || self.is_about_rules()
    }

    pub fn to_wire(&self) -> ChangedDetails {
        let text = |text: &Option<Box<str>>| text.as_deref().unwrap_or_default().to_owned();
        ChangedDetails {
            name: self.name.as_deref().map(str::to_owned),
            description: self.description.as_ref().map(text),
            image: self.image.as_ref().map(text),
            permissions: self.permissions,
            history: self.history,
            edits_visible_to: self.edits_visible_to,
            message_ttl_secs: self.message_ttl_secs.map(Option::unwrap_or_default),
        }
    }
}

impl Invite {
    /// True if the invite has not expired and has uses left. The caller checks whether its creator may still invite.
    pub fn is_usable(&self, now: Timestamp) -> bool {
        self.expires_at.is_none_or(|at| now < at) && self.uses_max.is_none_or(|max| self.uses < max)
    }

    pub fn check_terms(
        expires_at: Option<Timestamp>,
        uses_max: Option<u32>,
        now: Timestamp,
    ) -> Result<(), InvalidField> {
        if let Some(at) = expires_at {
            field::future("expires_at", at, now)?;
        }
        match uses_max {
            Some(0) => Err(InvalidField::new("uses_max", "must be at least 1")),
            Some(uses) if uses > INVITE_USES_MAX => {
                Err(InvalidField::new("uses_max", format!("must be at most {INVITE_USES_MAX}")))
            }
            _ => Ok(()),
        }
    }

    /// `works` says whether the creator may still invite.
    pub fn to_wire(&self, conversation_id: ConversationId, works: bool) -> wire::Invite {
        wire::Invite {
            id: self.id,
            conversation_id,
            token: self.token.as_str().to_owned(),
            created_by: self.created_by,
            created_at: self.created_at,
            expires_at: self.expires_at,
            uses_max: self.uses_max,
            uses: self.uses,
            works,
        }
    }
}

impl InviteToken {
    pub fn parse(text: &str) -> Option<Self> {
        let plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        (text.len() == INVITE_TOKEN_CHARS && text.bytes().all(plain)).then(|| Self(text.into()))
    }

    pub fn from_bits(bits: u128) -> Self {
        const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
        let digit = |i: usize| char::from(ALPHABET[(bits >> (6 * i)) as usize & 63]);
        Self((0..INVITE_TOKEN_CHARS).map(digit).collect::<String>().into())
    }

    /// For stores: does not validate, because the text was validated before it was written.
    pub fn from_stored(text: impl Into<Box<str>>) -> Self {
        Self(text.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for InviteToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("InviteToken(…)")
    }
}

/// The default permissions of members in a new conversation.
pub const fn default_permissions(members_may: bool) -> Permissions {
    Permissions {
        anyone_may_join: false,
        members_may_send: members_may,
        members_may_add_members: members_may,
        members_may_edit: members_may,
    }
}

pub fn updated_permissions(current: Permissions, update: UpdatePermissions) -> Permissions {
    Permissions {
        anyone_may_join: update.anyone_may_join.unwrap_or(current.anyone_may_join),
        members_may_send: update.members_may_send.unwrap_or(current.members_may_send),
        members_may_add_members: update.members_may_add_members.unwrap_or(current.members_may_add_members),
        members_may_edit: update.members_may_edit.unwrap_or(current.members_may_edit),
    }
}

pub(crate) fn parse_name(name: &str) -> Result<Box<str>, InvalidField> {
    field::single_line("name", name, CONVERSATION_NAME_CHARS_MAX)
}

pub(crate) fn parse_description(text: &str) -> Result<Box<str>, InvalidField> {
    field::text("description", text, DESCRIPTION_CHARS_MAX)
}

pub(crate) fn parse_image(url: &str) -> Result<Box<str>, InvalidField> {
    field::url("image", url, CONVERSATION_IMAGE_BYTES_MAX)
}

fn parse_ttl(secs: u32) -> Result<u32, InvalidField> {
    if (MESSAGE_TTL_SECS_MIN..=MESSAGE_TTL_SECS_MAX).contains(&secs) {
        Ok(secs)
    } else {
        let reason = format!("must be {MESSAGE_TTL_SECS_MIN} to {MESSAGE_TTL_SECS_MAX}, or null");
        Err(InvalidField::new("message_ttl_secs", reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn staff_are_owners_and_admins() {
        let mut details = Details::new(Timestamp::from_millis(0), default_permissions(true));
        let (a, b) = (UserId::new(7), UserId::new(3));
        details.set_role(a, Some(Role::Owner));
        details.set_role(b, Some(Role::Admin));
        assert_eq!(details.staff, [(b, Role::Admin), (a, Role::Owner)]);
        details.set_role(b, Some(Role::Owner));
        assert_eq!(details.owners().collect::<Vec<_>>(), [b, a]);
        details.set_role(a, Some(Role::Member));
        details.set_role(b, None);
        assert!(details.staff.is_empty());
    }

    #[test]
    fn only_different_values_are_changes() {
        let mut details = Details::new(Timestamp::from_millis(0), default_permissions(true));
        details.name = "Birds".into();
        details.image = Some("https://a/b.png".into());
        let update = UpdateConversation {
            name: Some(" Birds ".into()),
            image: Some(None),
            message_ttl_secs: Some(None),
            ..UpdateConversation::default()
        };
        let change = DetailsChange::parse(&update, details.permissions).unwrap().relative_to(&details);
        assert_eq!(change, DetailsChange { image: Some(None), ..DetailsChange::default() });
        details.change(change);
        assert_eq!(details.image, None);
    }

    #[test]
    fn tokens_have_one_form() {
        let token = InviteToken::from_bits(u128::MAX);
        assert_eq!(InviteToken::parse(token.as_str()), Some(token.clone()));
        assert_ne!(InviteToken::from_bits(1), InviteToken::from_bits(1 << 127));
        for wrong in ["", "short", "######################", "aaaaaaaaaaaaaaaaaaaaaaa"] {
            assert_eq!(InviteToken::parse(wrong), None);
        }
        assert!(!format!("{token:?}").contains(token.as_str()));
    }

    #[test]
    fn an_invite_ends_with_its_time_or_its_uses() {
        let at = Timestamp::from_millis;
        let invite = |expires_at, uses_max, uses| Invite {
            id: InviteId::new(1),
            token: InviteToken::from_bits(1),
            client_id: None,
            created_by: UserId::new(1),
            created_at: at(0),
            expires_at,
            uses_max,
            uses,
        };
        assert!(invite(None, None, 1_000).is_usable(at(5)));
        assert!(invite(Some(at(6)), Some(2), 1).is_usable(at(5)));
        assert!(!invite(Some(at(5)), None, 0).is_usable(at(5)));
        assert!(!invite(None, Some(2), 2).is_usable(at(5)));
    }
}
