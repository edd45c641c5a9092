//! Bans.

use std::collections::HashMap;

use godwit_protocol::groups::Ban as WireBan;
use godwit_protocol::{ConversationId, UserId};

use super::Groups;
use crate::actions::{Action, Deed, Refusal};
use crate::bounds::cut;
use crate::model::{Ban, User};

impl Groups {
    /// Removes a user, who cannot join or be added until the ban is lifted.
    pub async fn ban(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        // A user who may not see the conversation must not learn which users exist.
        self.conversations.of_member(by, id).await?;
        if self.store.user(user).await?.is_none() {
            return Err(Refusal::NotFound);
        }
        self.actions.act(by, id, Action::Ban(user)).await?;
        Ok(())
    }

    pub async fn unban(&self, by: UserId, id: ConversationId, user: UserId) -> Result<(), Refusal> {
        self.actions.act(by, id, Action::Unban(user)).await?;
        Ok(())
    }

    /// Banned users. Returns a page after `after`, and the cursor of the next page.
    pub async fn bans(
        &self,
        by: UserId,
        id: ConversationId,
        after: Option<UserId>,
        limit: usize,
    ) -> Result<(Vec<WireBan>, Option<UserId>), Refusal> {
        let (live, member) = self.conversations.of_member(by, id).await?;
        self.check(&live, &member, Deed::ManageBans)?;
        let bans: Vec<Ban> = live.read(|state| {
            let later = state.details.bans.iter().filter(|ban| after.is_none_or(|after| ban.user_id > after));
            later.take(limit).copied().collect()
        });
        let mut next = if bans.len() == limit { bans.last().map(|last| last.user_id) } else { None };
        let ids: Vec<UserId> = bans.iter().map(|ban| ban.user_id).collect();
        let users: HashMap<UserId, User> =
            self.store.users(&ids).await?.into_iter().map(|user| (user.id, user)).collect();
        let shown = bans.iter().filter_map(|ban| {
            let user = users.get(&ban.user_id)?.to_public();
            Some(WireBan { user, banned_by: ban.by, banned_at: ban.at })
        });
        let mut shown: Vec<WireBan> = shown.collect();
        if cut(&mut shown) {
            next = shown.last().map(|last| last.user.id);
        }
        Ok((shown, next))
    }
}
