//! The initial data for the measurements.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::ports::Store;
use godwit_protocol::UserId;

use super::chat::{Chat, new_user};
use super::plan::Plan;
use crate::progress::{Done, Step};

/// Items created concurrently.
const MADE_AT_ONCE_MAX: usize = 32;
/// Messages per append.
const BATCH: usize = 250;

#[derive(Debug)]
pub(super) struct Stage {
    /// Empty conversations, for each append scenario.
    pub(super) appends: Vec<Vec<Chat>>,
    /// A conversation with a long history.
    pub(super) history: Chat,
    pub(super) inboxes: Vec<Inbox>,
}

/// A user with conversations, each with a message.
#[derive(Debug)]
pub(super) struct Inbox {
    pub(super) user: UserId,
    pub(super) chats: Vec<Chat>,
}

impl Stage {
    pub(super) async fn set(store: &dyn Store, plan: &Plan, step: Step) -> anyhow::Result<Self> {
        let done = &step.done();
        let mut appends = Vec::with_capacity(plan.appends.len());
        for (conversations, _) in &plan.appends {
            appends.push(make(*conversations, done, || Chat::new(store)).await?);
        }
        let mut history = Chat::new(store).await?;
        while history.messages() < plan.history_messages {
            let messages = BATCH.min(plan.history_messages - history.messages());
            history.say(store, messages).await?;
            done.add(messages);
        }
        let mut inboxes = Vec::with_capacity(plan.inboxes.len());
        for conversations in &plan.inboxes {
            let user = new_user(store).await?;
            let chats = make(*conversations, done, || new_chat_with(store, user)).await?;
            inboxes.push(Inbox { user, chats });
        }
        Ok(Self { appends, history, inboxes })
    }

    pub(super) fn chats(&self) -> Vec<&Chat> {
        let inboxes = self.inboxes.iter().flat_map(|inbox| &inbox.chats);
        self.appends.iter().flatten().chain([&self.history]).chain(inboxes).collect()
    }

    pub(super) fn messages(&self) -> usize {
        self.chats().into_iter().map(Chat::messages).sum()
    }
}

async fn new_chat_with(store: &dyn Store, user: UserId) -> anyhow::Result<Chat> {
    let mut chat = Chat::open(store, new_user(store).await?, user).await?;
    chat.say(store, 1).await?;
    Ok(chat)
}

async fn make<T, Making>(count: usize, done: &Done, make: impl Fn() -> Making) -> anyhow::Result<Vec<T>>
where
    Making: Future<Output = anyhow::Result<T>>,
{
    let made = stream::iter((0..count).map(|_| make())).buffer_unordered(MADE_AT_ONCE_MAX);
    made.inspect_ok(|_| done.add(1)).try_collect().await
}
