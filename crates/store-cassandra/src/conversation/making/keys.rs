//! Creations: the conversations that users made with a key, as a transfer copies them.

use godwit_domain::model::{Change, ClientId};
use godwit_domain::ports::{Creation, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::{Claimed, FIRST, Unique};
use crate::conversation::Conversations;
use crate::cql::{Outcome, unavailable};
use crate::records::corrupt;

const OPERATION: &str = "store a creation";

impl Conversations {
    /// `None` until the conversation has a first entry, because it is invisible before.
    pub(crate) async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>, StoreError> {
        let row = self.find(&Unique::Key(by, key.clone())).await?;
        let Some(conversation) = row.map(|row| row.id()) else { return Ok(None) };
        let has_begun = self.scanning().has_begun(conversation).await?;
        Ok(has_begun.then(|| Creation { by, key: key.clone(), conversation }))
    }

    /// Writes the row that making the conversation would have written, with the content of the first entry.
    pub(crate) async fn put_creation(&self, creation: Creation) -> Result<(), StoreError> {
        let Creation { by, key, conversation: id } = creation;
        let missing = |what: &str| corrupt("conversations", id.to_string(), what);
        let stored = self.about().read(id).await?.ok_or_else(|| missing("it is not there"))?;
        let first = self.history().entry(id, FIRST).await?;
        let first = first.filter(|entry| matches!(entry.change, Change::Created(_)));
        let first = first.ok_or_else(|| missing("its log does not begin with its creation"))?;
        let unique = Unique::Key(by, key);
        let claimed = Claimed { id, created_at: stored.conversation.created_at, created: &first };
        match self.claim_row(&unique, claimed).await {
            Outcome::Applied => Ok(()),
            Outcome::NotApplied => self.leads_to(&unique, id).await,
            Outcome::Unknown(error) => {
                tracing::debug!(%id, %error, "reading back a keyed creation");
                self.leads_to(&unique, id).await
            }
        }
    }

    async fn leads_to(&self, unique: &Unique, id: ConversationId) -> Result<(), StoreError> {
        match self.find_serial(OPERATION, unique).await?.map(|row| row.id()) {
            Some(found) if found == id => Ok(()),
            Some(_) => Err(unavailable(OPERATION, "it leads to another conversation")),
            None => Err(unavailable(OPERATION, "it was not found after it was written")),
        }
    }
}
