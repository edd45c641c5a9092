//! Users whom a hint names as new members of a conversation that is fanned out on read.
//!
//! Followers of such a conversation get everything that is sent there, and a hint grants nothing. So this node first asks the
//! store whether the users are members, and meanwhile holds the frames that they would get:
//!
//! ```text
//! Follow(users) ──▶ expect: hold frames for these users
//!                      │ ask the store
//!                      ▼
//!                   members: follow, send the held frames        others: drop the held frames
//!                      │ ask the store again
//!                      ▼
//!                   unfollow or conceal what has changed since the first answer
//! ```

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use godwit_delivery::{EntryRun, Hub, LessFrame};
use godwit_domain::peers::FromPeers;
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::time::sleep;

use super::lock;

/// Bytes held per hint. Further frames are dropped, and clients read the missing entries because of the gap in `seq`.
const HELD_BYTES_MAX: usize = 1024 * 1024;
/// The pause between queries to a store that does not answer, and the maximum number of queries.
const ASK_INTERVAL: Duration = Duration::from_millis(500);
const ASKED_MAX: usize = 60;

#[derive(Debug, Default)]
pub(super) struct Newcomers {
    waiting: Mutex<HashMap<ConversationId, Vec<Waiting>>>,
}

#[derive(Debug)]
struct Waiting {
    id: u64,
    users: Vec<UserId>,
    held: Vec<Held>,
    bytes: usize,
}

/// The frame of an entry, and the frame for users who cannot see the message that it is about.
#[derive(Debug, Clone)]
struct Held {
    seq: Seq,
    frame: Bytes,
    less: Option<LessFrame>,
}

impl Newcomers {
    /// Sends entries to the followers, and holds them for users whose membership is not confirmed yet.
    pub(super) fn send(&self, hub: &Hub, conversation: ConversationId, run: EntryRun<'_>) {
        let mut waiting = lock(&self.waiting);
        for newcomers in waiting.get_mut(&conversation).into_iter().flatten() {
            newcomers.hold(run);
        }
        hub.send_to_followers(conversation, run);
    }

    /// Begins to hold frames for these users, until [`confirm`](Self::confirm) has asked the store. Other followers do not wait.
    pub(super) fn expect(&self, id: u64, users: Vec<UserId>, conversation: ConversationId) {
        let newcomers = Waiting { id, users, held: Vec::new(), bytes: 0 };
        lock(&self.waiting).entry(conversation).or_default().push(newcomers);
    }

    /// Asks the store which of the users are members, and lets these follow.
    pub(super) async fn confirm(&self, id: u64, conversation: ConversationId, hub: &Hub, app: &FromPeers) {
        let users = lock(&self.waiting)
            .get(&conversation)
            .and_then(|all| all.iter().find(|newcomers| newcomers.id == id))
            .map(|newcomers| newcomers.users.clone())
            .unwrap_or_default();
        let members = members_among(app, conversation, &users).await;
        {
            let mut waiting = lock(&self.waiting);
            let held = take(&mut waiting, id, conversation);
            hub.follow(&members, conversation);
            for (user, from) in &members {
                let shown: Vec<Bytes> = held.iter().filter_map(|held| held.for_user(*user, *from)).collect();
                hub.send_all(&[*user], &shown);
            }
        }
        // A user may have been removed, or have cleared the conversation, after the store answered and before they followed.
        // That change found no follower, so ask again now that they follow.
        let users: Vec<UserId> = members.into_iter().map(|(user, _)| user).collect();
        let still = members_among(app, conversation, &users).await;
        hub.conceal(&still, conversation);
        let is_gone = |user: &UserId| !still.iter().any(|(member, _)| member == user);
        let gone: Vec<UserId> = users.into_iter().filter(is_gone).collect();
        if !gone.is_empty() {
            hub.unfollow(&gone, conversation);
        }
    }
}

impl Waiting {
    fn hold(&mut self, run: EntryRun<'_>) {
        for ((place, frame), seq) in run.frames.iter().enumerate().zip(run.first.get()..) {
            let less = run.less.get(place).cloned().flatten();
            let bytes = frame.len() + less.as_ref().map_or(0, |less| less.frame.len());
            if self.bytes + bytes > HELD_BYTES_MAX {
                return;
            }
            self.bytes += bytes;
            self.held.push(Held { seq: Seq::new(seq), frame: frame.clone(), less });
        }
    }
}

impl Held {
    /// `None` for a user who sees only later entries.
    fn for_user(&self, user: UserId, from: Seq) -> Option<Bytes> {
        let frame = match &self.less {
            Some(less) if !less.unless.sees(user, from) => &less.frame,
            _ => &self.frame,
        };
        (self.seq >= from).then(|| frame.clone())
    }
}

fn take(
    waiting: &mut HashMap<ConversationId, Vec<Waiting>>,
    id: u64,
    conversation: ConversationId,
) -> Vec<Held> {
    let Some(all) = waiting.get_mut(&conversation) else { return Vec::new() };
    let held =
        all.extract_if(.., |newcomers| newcomers.id == id).flat_map(|newcomers| newcomers.held).collect();
    if all.is_empty() {
        waiting.remove(&conversation);
    }
    held
}

/// The members among the users, each with the first entry that they see. None if the store never answers.
async fn members_among(
    app: &FromPeers,
    conversation: ConversationId,
    users: &[UserId],
) -> Vec<(UserId, Seq)> {
    for _ in 0..ASKED_MAX {
        match app.members_among(conversation, users).await {
            Ok(members) => return members,
            Err(error) => {
                tracing::debug!(%conversation, %error, "could not load new members of a conversation yet");
                sleep(ASK_INTERVAL).await;
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn held_entries_from_before_a_user_joined_are_dropped() {
        let frames = [Bytes::from_static(b"4"), Bytes::from_static(b"5"), Bytes::from_static(b"6")];
        let mut newcomers = Waiting { id: 1, users: Vec::new(), held: Vec::new(), bytes: 0 };
        newcomers.hold(EntryRun { first: Seq::new(4), frames: &frames, less: &[None, None, None] });
        let shown = |from| {
            let frames =
                newcomers.held.iter().filter_map(|held| held.for_user(UserId::new(1), Seq::new(from)));
            frames.collect::<Vec<_>>().concat()
        };
        assert_eq!((shown(0), shown(5), shown(7)), (b"456".to_vec(), b"56".to_vec(), Vec::new()));
    }
}
