//! Users who are said to have joined a conversation that is fanned out on read.
//!
//! What other nodes say is a hint. A follower of such a conversation gets everything that is said in it, so this node first asks
//! the store whether the user is a member. Frames for followers that arrive meanwhile are held for the user.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::Duration;

use bytes::Bytes;
use godwit_delivery::{Hub, LessFrame};
use godwit_domain::peers::FromPeers;
use godwit_protocol::{ConversationId, Seq, UserId};
use tokio::time::sleep;

use super::lock;

/// Bytes held per conversation for users who wait. At more, their clients find the rest by `seq`.
const HELD_BYTES_MAX: usize = 1024 * 1024;
/// The pause between queries to a store that does not answer, and how many queries there are.
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

/// A frame, and the one for those who cannot see what it is about.
#[derive(Debug, Clone)]
struct Held {
    frame: Bytes,
    less: Option<LessFrame>,
}

impl Newcomers {
    /// Gives frames to those who follow, and holds them for those who may soon.
    pub(super) fn send(
        &self,
        hub: &Hub,
        conversation: ConversationId,
        frames: &[Bytes],
        less: &[Option<LessFrame>],
    ) {
        let mut waiting = lock(&self.waiting);
        for newcomers in waiting.get_mut(&conversation).into_iter().flatten() {
            newcomers.hold(frames, less);
        }
        hub.send_to_followers(conversation, frames, less);
    }

    /// Lets those of the users follow who are members. Until it is known nothing is held up but what is for them.
    pub(super) fn expect(&self, id: u64, users: Vec<UserId>, conversation: ConversationId) {
        let newcomers = Waiting { id, users, held: Vec::new(), bytes: 0 };
        lock(&self.waiting).entry(conversation).or_default().push(newcomers);
    }

    /// Asks the store, and does as it says.
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
                let shown: Vec<Bytes> = held.iter().map(|held| held.for_user(*user, *from)).collect();
                hub.send_all(&[*user], &shown);
            }
        }
        // Who was removed between the question and now found nobody to stop, and who cleared the conversation nobody to
        // conceal it from. Now that they follow, look again.
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
    fn hold(&mut self, frames: &[Bytes], less: &[Option<LessFrame>]) {
        for (place, frame) in frames.iter().enumerate() {
            let less = less.get(place).cloned().flatten();
            let bytes = frame.len() + less.as_ref().map_or(0, |less| less.frame.len());
            if self.bytes + bytes > HELD_BYTES_MAX {
                return;
            }
            self.bytes += bytes;
            self.held.push(Held { frame: frame.clone(), less });
        }
    }
}

impl Held {
    fn for_user(&self, user: UserId, from: Seq) -> Bytes {
        match &self.less {
            Some(less) if !less.unless.sees(user, from) => less.frame.clone(),
            _ => self.frame.clone(),
        }
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

/// Each with the first entry that they see. Nobody is a member as long as the store does not say so.
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
