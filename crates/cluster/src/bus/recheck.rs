//! Rechecks what other nodes may have revoked while they could not reach this one: sessions, memberships, who sees whom.
//!
//! Looks up every user who has a socket here. That takes a while and costs the store a few reads per user, so it happens only
//! when something may have been missed.

use futures_util::stream::{self, StreamExt};
use godwit_domain::peers::FromPeers;
use godwit_domain::ports::StoreError;
use godwit_protocol::socket::CloseCode;
use godwit_protocol::{ConversationId, UserId};

use super::Bus;

/// Users looked up concurrently.
const AT_ONCE_MAX: usize = 16;

impl Bus {
    /// Runs until the future is dropped.
    pub(crate) async fn recheck(&self) {
        loop {
            self.look_again.notified().await;
            let Some(app) = self.app.get() else { continue };
            // The end of a session is visible to others, so who may see whom is rechecked first.
            let mut failed = count_failed(self.hub.users(), |user| self.recheck_sight(app, user)).await;
            failed += count_failed(self.hub.users(), |user| self.recheck_sessions(app, user)).await;
            if failed > 0 {
                tracing::warn!(failed, "could not look up some users again; retrying");
                tokio::time::sleep(std::time::Duration::from_secs(1)).await;
                self.look_again.notify_one();
            }
        }
    }

    async fn recheck_sight(&self, app: &FromPeers, user: UserId) -> Result<(), StoreError> {
        // Looked at first: who is added meanwhile follows from then on.
        let before = self.hub.followed_by(user);
        let followed = app.followed(user).await?;
        let is_followed = |conversation: &ConversationId| followed.iter().any(|(id, _)| id == conversation);
        for conversation in before.iter().filter(|conversation| !is_followed(conversation)) {
            self.hub.unfollow(&[user], *conversation);
        }
        // They may see less of the others by now. Who was removed since does not follow again because of it.
        for (conversation, from) in followed.iter().filter(|(conversation, _)| before.contains(conversation))
        {
            self.hub.conceal(&[(user, *from)], *conversation);
        }
        let watched = self.hub.watched_by(user);
        let visible = app.visible(user, &watched).await?;
        for hidden in watched.iter().filter(|other| !visible.contains(other)) {
            self.hub.stop_watching(user, *hidden);
        }
        Ok(())
    }

    async fn recheck_sessions(&self, app: &FromPeers, user: UserId) -> Result<(), StoreError> {
        for device in app.ended_sessions(user, self.hub.devices_of(user)).await? {
            self.hub.close_device(user, device, CloseCode::SignedOut);
        }
        Ok(())
    }
}

/// Looks up all of them, and says for how many it failed.
async fn count_failed<Lookup>(users: Vec<UserId>, look_up: impl Fn(UserId) -> Lookup) -> usize
where
    Lookup: Future<Output = Result<(), StoreError>>,
{
    stream::iter(users)
        .map(look_up)
        .buffer_unordered(AT_ONCE_MAX)
        .filter(|result| std::future::ready(result.is_err()))
        .count()
        .await
}
