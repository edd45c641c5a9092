//! Entries about members and details.

use godwit_domain::model::{Change, DetailsChange, FanOut, Invite, InviteToken, JoiningTerms};
use godwit_domain::projection::Fold;
use godwit_protocol::conversations::{HistoryVisibility, Role};
use godwit_protocol::{InviteId, Seq, UserId};

use super::Batch;

impl Batch<'_> {
    #[must_use]
    pub fn add(self, by: UserId, users: &[UserId]) -> Self {
        let user_ids = users.to_vec();
        self.push(|fold, _| Change::MembersAdded { by, user_ids, terms: terms(fold, None) })
    }

    /// Adds users and makes the conversation large.
    #[must_use]
    pub fn add_crossing(self, by: UserId, users: &[UserId]) -> Self {
        let user_ids = users.to_vec();
        self.push(|fold, _| Change::MembersAdded { by, user_ids, terms: terms(fold, Some(FanOut::OnRead)) })
    }

    #[must_use]
    pub fn join(self, user_id: UserId, invite: Option<InviteId>) -> Self {
        self.push(|fold, _| Change::MemberJoined { user_id, invite, terms: terms(fold, None) })
    }

    #[must_use]
    pub fn join_crossing(self, user_id: UserId, invite: Option<InviteId>) -> Self {
        self.push(|fold, _| Change::MemberJoined {
            user_id,
            invite,
            terms: terms(fold, Some(FanOut::OnRead)),
        })
    }

    #[must_use]
    pub fn leave(self, user_id: UserId) -> Self {
        self.change(Change::MemberLeft { user_id })
    }

    #[must_use]
    pub fn remove(self, by: UserId, user_id: UserId) -> Self {
        self.change(Change::MemberRemoved { by, user_id })
    }

    #[must_use]
    pub fn ban(self, by: UserId, user_id: UserId) -> Self {
        self.push(|fold, _| {
            let was_member = fold.member(user_id).is_some();
            Change::MemberBanned { by, user_id, was_member }
        })
    }

    #[must_use]
    pub fn unban(self, by: UserId, user_id: UserId) -> Self {
        self.change(Change::MemberUnbanned { by, user_id })
    }

    #[must_use]
    pub fn role(self, by: UserId, user_id: UserId, role: Role) -> Self {
        self.change(Change::RoleChanged { by, user_id, role })
    }

    #[must_use]
    pub fn transfer(self, by: UserId, user_id: UserId) -> Self {
        self.change(Change::OwnershipTransferred { by, user_id })
    }

    #[must_use]
    pub fn details(self, by: UserId, change: DetailsChange) -> Self {
        self.change(Change::DetailsChanged { by, change: Box::new(change) })
    }

    #[must_use]
    pub fn rename(self, by: UserId, name: &str) -> Self {
        self.details(by, DetailsChange { name: Some(name.into()), ..DetailsChange::default() })
    }

    /// An invite without a limit on uses or time. Its id is that of the entry.
    #[must_use]
    pub fn invite(self, by: UserId, token: &InviteToken) -> Self {
        self.push(|_, id| Change::InviteCreated {
            invite: Box::new(Invite {
                id: InviteId::new(id.get()),
                token: token.clone(),
                client_id: None,
                created_by: by,
                created_at: id.timestamp(),
                expires_at: None,
                uses_max: None,
                uses: 0,
            }),
        })
    }

    #[must_use]
    pub fn revoke(self, by: UserId, invite_id: InviteId) -> Self {
        self.change(Change::InviteRevoked { by, invite_id })
    }

    #[must_use]
    pub fn delete_conversation(self, by: UserId) -> Self {
        self.change(Change::ConversationDeleted { by })
    }
}

/// The terms for a user who joins with the next entry.
fn terms(fold: &Fold<'_>, crosses_to: Option<FanOut>) -> JoiningTerms {
    let visible_from = match fold.details().history {
        HistoryVisibility::All => Seq::ZERO,
        HistoryVisibility::FromJoining => fold.head().seq.next(),
    };
    JoiningTerms { visible_from, crosses_to }
}
