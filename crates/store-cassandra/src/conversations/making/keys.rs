//! What was made with keys, as it is copied from one store to another.

use godwit_domain::model::{Change, ClientId};
use godwit_domain::ports::{Creation, StoreError};
use godwit_protocol::{ConversationId, UserId};

use super::{Claimed, FIRST, Row, Unique};
use crate::conversations::Conversations;
use crate::cql::{Outcome, unavailable};
use crate::records::corrupt;
use crate::values::int;

const OPERATION: &str = "keep what was made with a key";

impl Conversations {
    /// None while the conversation has not begun: then nobody has heard of it.
    pub(crate) async fn creation(&self, by: UserId, key: &ClientId) -> Result<Option<Creation>, StoreError> {
        let row = self.find(&Unique::Key(by, key.clone())).await?;
        let Some(conversation) = row.map(|row| row.id()) else { return Ok(None) };
        let has_begun = self.scanning().has_begun(conversation).await?;
        Ok(has_begun.then(|| Creation { by, key: key.clone(), conversation }))
    }

    /// The row is the one that would have been written when the conversation was made: what that says is in the first entry.
    pub(crate) async fn put_creation(&self, creation: &Creation) -> Result<(), StoreError> {
        let Creation { by, key, conversation: id } = creation;
        let missing = |what: &str| corrupt("conversations", id.to_string(), what);
        let stored = self.about().read(*id).await?.ok_or_else(|| missing("it is not there"))?;
        let first = self.history().entry(*id, FIRST).await?;
        let first = first.filter(|entry| matches!(entry.change, Change::Created(_)));
        let first = first.ok_or_else(|| missing("its log does not begin with its beginning"))?;
        let unique = Unique::Key(*by, key.clone());
        let claimed = Claimed { id: *id, created_at: stored.conversation.created_at, created: &first };
        match self.claim_row(&unique, claimed).await {
            Outcome::Applied => Ok(()),
            Outcome::NotApplied => self.leads_to(*by, key, *id).await,
            Outcome::Unknown(error) => {
                tracing::debug!(%id, %error, "reading back what was made with a key");
                self.leads_to(*by, key, *id).await
            }
        }
    }

    async fn leads_to(&self, by: UserId, key: &ClientId, id: ConversationId) -> Result<(), StoreError> {
        let values = (int(by.get()), key.as_str());
        let row: Option<Row> = self.cql.serial_row(OPERATION, &self.making.keys.find_serial, values).await?;
        match row.map(|row| row.id()) {
            Some(found) if found == id => Ok(()),
            Some(_) => Err(unavailable(OPERATION, "it leads to another conversation")),
            None => Err(unavailable(OPERATION, "it was not found after it was written")),
        }
    }
}
