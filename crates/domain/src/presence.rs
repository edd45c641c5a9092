//! Presence: online status, last seen, and typing.

use std::sync::Arc;

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_protocol::limits::TYPING_TTL_MS;
use godwit_protocol::people::Presence as WirePresence;
use godwit_protocol::socket::{Event, PresenceEvent, TypingEvent};
use godwit_protocol::{ConversationId, Seq, UserId};

use crate::actions::rules::{self, Actor};
use crate::actions::{Deed, Refusal};
use crate::conversations::Conversations;
use crate::following::{Following, LOOKED_UP_AT_ONCE_MAX};
use crate::model::User;
use crate::ports::{Clock, Delivery, Store, StoreError, UpdateUser, UserChange};

#[derive(Debug)]
pub struct Presence {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) conversations: Arc<Conversations>,
    pub(crate) following: Arc<Following>,
    pub(crate) delivery: Arc<dyn Delivery>,
    pub(crate) clock: Arc<dyn Clock>,
}

impl Presence {
    /// A socket of the user has opened.
    pub async fn came_online(&self, user: UserId) -> Result<(), StoreError> {
        self.delivery.arrived(user).await;
        let followed = self.followed(user).await?.into_iter();
        let follow = followed.map(|(conversation, from)| async move {
            self.following.follow(&[(user, from)], conversation).await
        });
        stream::iter(follow).buffer_unordered(LOOKED_UP_AT_ONCE_MAX).try_collect::<()>().await?;
        if let Some(user) = self.store.user(user).await? {
            self.tell(&user).await;
        }
        Ok(())
    }

    /// The large conversations that a connected user follows, each with the first entry that the user sees.
    pub(crate) async fn followed(&self, user: UserId) -> Result<Vec<(ConversationId, Seq)>, StoreError> {
        let rows = self.store.fanned_out_on_read(user).await?;
        let followed = rows.into_iter().map(|row| async move {
            let member = self.store.member(row.conversation, user).await?;
            Ok(member.map(|member| (row.conversation, member.history_from())))
        });
        let followed = stream::iter(followed).buffer_unordered(LOOKED_UP_AT_ONCE_MAX);
        followed.try_filter_map(|followed| std::future::ready(Ok(followed))).try_collect().await
    }

    /// A socket of the user has closed. After the last one, the user is offline.
    pub async fn went_offline(&self, user: UserId) -> Result<(), StoreError> {
        self.delivery.left(user).await;
        if self.delivery.is_online(user).await {
            return Ok(());
        }
        let change = UserChange { last_seen_at: Some(self.clock.now()), ..UserChange::default() };
        if let UpdateUser::Updated(user, _) = self.store.update_user(user, change, None).await? {
            self.tell(&user).await;
        }
        Ok(())
    }

    /// The current presence of the users whose presence `by` may see.
    pub async fn visible(&self, by: UserId, users: &[UserId]) -> Result<Vec<PresenceEvent>, StoreError> {
        let mut visible = Vec::with_capacity(users.len());
        for user in self.store.users(users).await? {
            if let Some(presence) = self.of(by, &user).await? {
                visible.push(PresenceEvent { user_id: user.id, presence });
            }
        }
        Ok(visible)
    }

    /// The presence of a user as `by` sees it. `None` if one has blocked the other or the user hides it.
    pub(crate) async fn of(&self, by: UserId, user: &User) -> Result<Option<WirePresence>, StoreError> {
        if !user.presence_visible || self.store.is_blocked(by, user.id).await? {
            return Ok(None);
        }
        let online = self.delivery.is_online(user.id).await;
        Ok(Some(WirePresence { online, last_seen_at: user.last_seen_at }))
    }

    /// The user has just hidden or shown their presence.
    pub(crate) async fn visibility_changed(&self, user: &User) {
        if user.presence_visible {
            self.tell(user).await;
        } else {
            let presence = WirePresence { online: false, last_seen_at: None };
            self.delivery.deliver_presence(PresenceEvent { user_id: user.id, presence });
        }
    }

    /// Tells the other members that the user is typing, unless the conversation is large. Members who have blocked the user, or
    /// whom the user has blocked, are not told, because typing reveals that the user is online. The notice is not stored.
    pub async fn typing(
        &self,
        by: UserId,
        conversation: ConversationId,
        typing: bool,
    ) -> Result<(), Refusal> {
        let (live, member) = self.conversations.of_member(by, conversation).await?;
        let (kind, permissions, members) =
            live.read(|state| (state.conversation.kind, state.details.permissions, state.member_ids()));
        let blocked = match kind.pair() {
            Some(pair) => self.store.is_blocked(pair.low(), pair.high()).await?,
            None => false,
        };
        let actor = Actor { role: Some(member.role), blocked };
        rules::check(kind, permissions, actor, Deed::Type)?;
        let mut others: Vec<UserId> = members.into_iter().filter(|member| *member != by).collect();
        if kind.pair().is_none() && !others.is_empty() {
            let (blocked, blockers) = tokio::try_join!(
                self.store.blocked_among(by, &others),
                self.store.blockers_among(by, &others)
            )?;
            others.retain(|member| !blocked.contains(member) && !blockers.contains(member));
        }
        let event = TypingEvent { conversation_id: conversation, user_id: by, typing, ttl_ms: TYPING_TTL_MS };
        self.delivery.deliver(&others, &Event::Typing(event));
        Ok(())
    }

    async fn tell(&self, user: &User) {
        if user.presence_visible {
            let online = self.delivery.is_online(user.id).await;
            let presence = WirePresence { online, last_seen_at: user.last_seen_at };
            self.delivery.deliver_presence(PresenceEvent { user_id: user.id, presence });
        }
    }
}
