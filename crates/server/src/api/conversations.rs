//! Creating and deleting conversations, adding members, and the order of pinned ones.

use godwit_domain::groups::MadeGroup;
use godwit_protocol::conversations::{
    CreateConversation, CreatedConversation, DeleteConversation, DeleteFor,
};
use godwit_protocol::groups::AddedMembers;
use godwit_protocol::{ConversationId, UserId};

use crate::problem::ApiResult;
use crate::state::Shared;

/// Opens or creates a conversation, and tells whether it is new.
pub async fn create(
    state: &Shared,
    by: UserId,
    request: CreateConversation,
) -> ApiResult<(CreatedConversation, bool)> {
    let groups = &state.app.groups;
    if let CreateConversation::Group(new) | CreateConversation::Channel(new) = &request {
        state.rates.check_named(by, new.member_ids.len())?;
    }
    let MadeGroup { opened, members } = match request {
        CreateConversation::Direct { user_id } => {
            MadeGroup { opened: state.app.inbox.open_direct(by, user_id).await?, members: Vec::new() }
        }
        CreateConversation::Group(new) => groups.create(by, false, new).await?,
        CreateConversation::Channel(new) => groups.create(by, true, new).await?,
    };
    let refused = members.into_iter().filter(|member| !member.added).collect();
    Ok((CreatedConversation { conversation: opened.conversation, refused }, opened.made))
}

/// Sorts the pinned conversations. Each one that moves is a write.
pub async fn order_pinned(state: &Shared, by: UserId, order: &[ConversationId]) -> ApiResult<()> {
    state.rates.check_named(by, order.len())?;
    Ok(state.app.inbox.order_pinned(by, order).await?)
}

/// Adds users to a conversation. Each of them is looked up, whether or not they can be added.
pub async fn add_members(
    state: &Shared,
    by: UserId,
    id: ConversationId,
    users: &[UserId],
) -> ApiResult<AddedMembers> {
    state.rates.check_named(by, users.len())?;
    Ok(AddedMembers { results: state.app.groups.add_members(by, id, users).await? })
}

/// Deletes a conversation for the user only, or for all members.
pub async fn delete_for(state: &Shared, by: UserId, request: DeleteConversation) -> ApiResult<()> {
    let DeleteConversation { conversation_id: id, r#for, up_to } = request;
    match r#for {
        DeleteFor::Me => state.app.inbox.delete_for_me(by, id, up_to).await?,
        DeleteFor::All => state.app.groups.delete_for_all(by, id).await?,
    }
    Ok(())
}
