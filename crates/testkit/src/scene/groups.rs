//! Groups, and appends to them.

use godwit_domain::model::{Created, InviteToken, Kind, LogItem, Member};
use godwit_domain::ports::{NewConversation, StoreError};
use godwit_domain::projection::Needs;
use godwit_protocol::{ConversationId, Seq, UserId};

use super::Scene;
use crate::batch::Batch;
use crate::founding;

/// A group or a channel.
#[derive(Debug, Clone)]
pub struct Group {
    pub id: ConversationId,
    /// The first member created and owns it.
    pub members: Vec<UserId>,
}

impl Scene {
    /// Increasing user ids. A user who only talks need not be stored.
    pub fn people(&self, count: usize) -> Vec<UserId> {
        (0..count).map(|_| UserId::new(self.id())).collect()
    }

    pub fn token(&self) -> InviteToken {
        InviteToken::from_bits(rand::random())
    }

    /// A new group or channel that is not stored yet, created by its first member.
    pub fn new_group(&self, kind: Kind, members: &[UserId]) -> NewConversation {
        self.new_group_with(kind, members, |_| ())
    }

    /// Like [`new_group`](Self::new_group), with changes to its properties.
    pub fn new_group_with(
        &self,
        kind: Kind,
        members: &[UserId],
        say: impl FnOnce(&mut Created),
    ) -> NewConversation {
        founding::new_group(&self.ids, kind, members, say)
    }

    /// A group with this many members.
    pub async fn group(&self, members: usize) -> Result<Group, StoreError> {
        self.found(Kind::Group, members).await
    }

    pub async fn channel(&self, members: usize) -> Result<Group, StoreError> {
        self.found(Kind::Channel, members).await
    }

    /// A group that is fanned out on read; its last member made it large.
    pub async fn large_group(&self, members: usize) -> Result<Group, StoreError> {
        let group = self.group(members - 1).await?;
        let last = UserId::new(self.id());
        self.append(self.batch(group.id).await?.add_crossing(group.members[0], &[last]).build()).await?;
        Ok(Group { members: group.members.into_iter().chain([last]).collect(), ..group })
    }

    async fn found(&self, kind: Kind, members: usize) -> Result<Group, StoreError> {
        let members = self.people(members);
        let made = self.store().create(self.new_group(kind, &members), None).await?;
        Ok(Group { id: made.id, members })
    }

    /// A member. Panics if the user is not one.
    pub async fn member(&self, id: ConversationId, user: UserId) -> Result<Member, StoreError> {
        Ok(self.store().member(id, user).await?.expect("they are a member"))
    }

    /// An entry. Panics if it does not exist.
    pub async fn item(&self, id: ConversationId, seq: Seq) -> Result<LogItem, StoreError> {
        let mut items = self.store().items(id, &[seq]).await?;
        assert_eq!(items.len(), 1, "one was asked for");
        Ok(items.remove(0).expect("the entry is there"))
    }

    /// A batch for the current end of the log that changes these messages.
    pub async fn batch_on(&self, id: ConversationId, messages: &[Seq]) -> Result<Batch<'_>, StoreError> {
        self.batch_with(id, messages, &[]).await
    }

    /// Like [`batch_on`](Self::batch_on), for a batch that mentions or changes these users too.
    pub async fn batch_with(
        &self,
        id: ConversationId,
        messages: &[Seq],
        users: &[UserId],
    ) -> Result<Batch<'_>, StoreError> {
        let state = self.load(id).await?;
        let mut items = Vec::new();
        for seq in messages {
            items.push(self.item(id, *seq).await?);
        }
        let mut batch = Batch::after(&self.ids, &state);
        if !state.is_whole() {
            let mentioned: Vec<UserId> = items.iter().flat_map(Needs::of_mentioned).collect();
            for user in mentioned.into_iter().chain(users.iter().copied()) {
                batch = batch.knowing_member(user, self.store().member(id, user).await?);
            }
        }
        Ok(batch.knowing(items))
    }

    /// Appends a reaction, or the removal of one.
    pub async fn react(
        &self,
        id: ConversationId,
        user: UserId,
        message: Seq,
        reaction: Option<&str>,
    ) -> Result<(), StoreError> {
        let mut before = self.store().reactions_by(id, &[(message, user)]).await?;
        let before = before.remove(0);
        let batch = self.batch_on(id, &[message]).await?;
        self.append(batch.react(user, message, before.as_deref(), reaction).build()).await?;
        Ok(())
    }
}

impl Group {
    pub fn owner(&self) -> UserId {
        self.members[0]
    }
}
