//! Reads again what other nodes may have revoked while they could not reach this one: sessions, memberships, and the right to
//! see another user's presence.
//!
//! A recheck covers every user with a socket on this node. It takes a while and costs the store a few reads per user, so it runs
//! only after this node may have missed a frame.

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
            // Ending a session is visible to watchers of the user, so the right to watch is rechecked first.
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
        // Read before the store is asked, so that a conversation that is followed in the meantime is not unfollowed.
        let before = self.hub.followed_by(user);
        let followed = app.followed(user).await?;
        let is_followed = |conversation: &ConversationId| followed.iter().any(|(id, _)| id == conversation);
        for conversation in before.iter().filter(|conversation| !is_followed(conversation)) {
            self.hub.unfollow(&[user], *conversation);
        }
        // The user may see fewer entries of the other conversations by now. Concealing does not make anybody follow.
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

/// Looks up all users, and returns the number of failures.
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
