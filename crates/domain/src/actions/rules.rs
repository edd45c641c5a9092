//! Who may do what. Everything else asks here.

use godwit_protocol::conversations::{Permissions, Role};

use super::action::Refusal;
use crate::model::Kind;

/// How long messages can be edited, and by whom; when conversations become large.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessagePolicy {
    /// For ever where it is absent.
    pub edit_window_ms: Option<i64>,
    /// Whether owners and admins may edit what others wrote in groups and channels.
    pub admins_may_edit: bool,
    /// Members up to whom each one's inbox is written with every message.
    pub fan_out_members_max: u32,
}

impl Default for MessagePolicy {
    fn default() -> Self {
        Self { edit_window_ms: Some(48 * 60 * 60 * 1_000), admins_may_edit: false, fan_out_members_max: 500 }
    }
}

/// What somebody wants to do, as far as permission is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deed {
    Read,
    Send,
    EditOwn,
    /// Where [`MessagePolicy::admins_may_edit`] allows it at all.
    EditOther,
    DeleteOwn,
    DeleteOther,
    React,
    Pin,
    /// Typing notices.
    Type,
    AddMembers,
    /// Somebody else, who has this role.
    Remove(Role),
    /// The same for good, until the ban is lifted; also who is not a member.
    Ban(Role),
    /// To see who is banned, and to lift bans.
    ManageBans,
    SetRole,
    TransferOwnership,
    Leave,
    /// Name, description, image.
    EditDetails,
    /// How long messages stay.
    SetTimer,
    /// Permissions, what new members see, who sees earlier versions.
    EditRules,
    CreateInvite,
    /// To see and to revoke those that one has made, also who may not invite any more: they would work again with the right.
    OwnInvites,
    /// To see and to revoke all of them.
    ManageInvites,
    DeleteConversation,
}

/// The one who wants to do it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Actor {
    /// None for who is not a member.
    pub role: Option<Role>,
    /// In a direct conversation: one of the two has blocked the other.
    pub blocked: bool,
}

/// Whether somebody may do something in a conversation that is not deleted.
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

/// Whether the links work that somebody with this role has made.
pub fn may_invite(kind: Kind, permissions: Permissions, role: Option<Role>) -> bool {
    check(kind, permissions, Actor { role, blocked: false }, Deed::CreateInvite).is_ok()
}

fn check_direct(blocked: bool, deed: Deed) -> Result<(), Refusal> {
    match deed {
        // What was written can be read and taken back, whatever happened since.
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
        // Who may not write says nothing by way of what they have written before.
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
