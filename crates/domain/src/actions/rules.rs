//! Permissions: which role may do what. No other module decides this.

use godwit_protocol::conversations::{Permissions, Role};

use super::refusal::Refusal;
use crate::model::Kind;

/// Policy for messages: how long they can be edited, and by whom; and when conversations become large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePolicy {
    /// `None` for no limit.
    pub edit_window_ms: Option<i64>,
    /// Whether owners and admins may edit the messages of others in groups and channels.
    pub admins_may_edit: bool,
    /// The member count up to which every message writes the inbox of every member.
    pub fan_out_members_max: u32,
}

impl Default for MessagePolicy {
    fn default() -> Self {
        Self { edit_window_ms: Some(48 * 60 * 60 * 1_000), admins_may_edit: false, fan_out_members_max: 500 }
    }
}

/// A kind of action, as far as permissions distinguish it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Read,
    Send,
    EditOwn,
    /// Needs [`MessagePolicy::admins_may_edit`].
    EditOther,
    DeleteOwn,
    DeleteOther,
    React,
    Pin,
    /// Typing notices.
    Type,
    AddMembers,
    /// Remove another user, who has this role.
    Remove(Role),
    /// Remove another user or a non-member, who cannot return until the ban is lifted.
    Ban(Role),
    /// See bans, and lift them.
    ManageBans,
    SetRole,
    TransferOwnership,
    Leave,
    /// Name, description, image.
    EditDetails,
    /// The lifetime of messages.
    SetTimer,
    /// Permissions, the history that new members see, and who sees earlier versions.
    EditRules,
    CreateInvite,
    /// See and revoke one's own invites. Members who may not invite keep this right, because their invites would work again
    /// if they regained it.
    OwnInvites,
    /// See and revoke all invites.
    ManageInvites,
    DeleteConversation,
}

/// The user who acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// `None` for a user who is not a member.
    pub role: Option<Role>,
    /// In a direct conversation: whether one of the two has blocked the other.
    pub blocked: bool,
}

/// Checks a permission in a conversation that is not deleted.
pub fn check(kind: Kind, permissions: Permissions, actor: Actor, deed: Deed) -> Result<(), Refusal> {
    let role = actor.role.ok_or(Refusal::NotFound)?;
    match kind {
        Kind::Direct(_) => check_direct(actor.blocked, deed),
        Kind::Group | Kind::Channel => {
            let allowed = match role {
                Role::Owner => true,
                Role::Admin => admin_may(deed),
                Role::Member => member_may(kind, permissions, deed),
            };
            if allowed { Ok(()) } else { Err(Refusal::Forbidden) }
        }
    }
}

/// Whether the invite links of a user with this role work.
pub fn may_invite(kind: Kind, permissions: Permissions, role: Option<Role>) -> bool {
    check(kind, permissions, Actor { role, blocked: false }, Deed::CreateInvite).is_ok()
}

fn check_direct(blocked: bool, deed: Deed) -> Result<(), Refusal> {
    match deed {
        // A member can always read and delete their own messages.
        Deed::Read | Deed::DeleteOwn => Ok(()),
        Deed::Send | Deed::EditOwn | Deed::React | Deed::Pin | Deed::Type | Deed::SetTimer => {
            if blocked {
                Err(Refusal::Blocked)
            } else {
                Ok(())
            }
        }
        Deed::EditOther | Deed::DeleteOther => Err(Refusal::Forbidden),
        Deed::AddMembers
        | Deed::Remove(_)
        | Deed::Ban(_)
        | Deed::ManageBans
        | Deed::SetRole
        | Deed::TransferOwnership
        | Deed::Leave
        | Deed::EditDetails
        | Deed::EditRules
        | Deed::CreateInvite
        | Deed::OwnInvites
        | Deed::ManageInvites
        | Deed::DeleteConversation => Err(Refusal::WrongKind),
    }
}

const fn admin_may(deed: Deed) -> bool {
    match deed {
        Deed::Remove(role) | Deed::Ban(role) => matches!(role, Role::Member),
        Deed::SetRole | Deed::TransferOwnership | Deed::DeleteConversation => false,
        _ => true,
    }
}

const fn member_may(kind: Kind, permissions: Permissions, deed: Deed) -> bool {
    match deed {
        Deed::Read | Deed::React | Deed::DeleteOwn | Deed::OwnInvites | Deed::Leave => true,
        // A user who may not send must not publish text by editing earlier messages.
        Deed::Send | Deed::EditOwn | Deed::Type => {
            matches!(kind, Kind::Group) && permissions.members_may_send
        }
        Deed::AddMembers | Deed::CreateInvite => permissions.members_may_add_members,
        Deed::EditDetails | Deed::SetTimer | Deed::Pin => permissions.members_may_edit,
        Deed::EditOther
        | Deed::DeleteOther
        | Deed::Remove(_)
        | Deed::Ban(_)
        | Deed::ManageBans
        | Deed::SetRole
        | Deed::TransferOwnership
        | Deed::EditRules
        | Deed::ManageInvites
        | Deed::DeleteConversation => false,
    }
}
