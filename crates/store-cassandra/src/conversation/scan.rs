//! Scans of all conversations, for a transfer. These queries read a whole table in token order; nothing else
//! may use them.

use futures_util::stream::{self, StreamExt, TryStreamExt};
use godwit_domain::model::ClientId;
use godwit_domain::ports::{Creation, StoreError};
use godwit_protocol::{ConversationId, UserId};
use scylla::errors::PrepareError;

use super::Conversations;
use crate::cql::{Cql, Read};
use crate::values::{int, row_limit};

/// Logs read concurrently.
const LOOKS_AT_ONCE_MAX: usize = 32;

#[derive(Debug)]
pub(super) struct Statements {
    first: Read,
    after: Read,
    first_with_keys: Read,
    after_with_keys: Read,
    head: Read,
}

impl Statements {
    pub(super) async fn prepare(cql: &Cql) -> Result<Self, PrepareError> {
        let all = "SELECT DISTINCT conversation_id FROM conversations";
        let with_keys = "SELECT user_id, key, conversation_id FROM creations";
        Ok(Self {
            first: cql.prepare_read(&format!("{all} LIMIT ?")).await?,
            after: cql
                .prepare_read(&format!("{all} WHERE token(conversation_id) > token(?) LIMIT ?"))
                .await?,
            first_with_keys: cql.prepare_read(&format!("{with_keys} LIMIT ?")).await?,
            after_with_keys: cql
                .prepare_read(&format!("{with_keys} WHERE token(user_id, key) > token(?, ?) LIMIT ?"))
                .await?,
            head: cql
                .prepare_read("SELECT head_seq FROM log WHERE conversation_id = ? AND bucket = ? LIMIT 1")
                .await?,
        })
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Scanning<'a> {
    pub(super) cql: &'a Cql,
    pub(super) statements: &'a Statements,
}

impl Conversations {
    pub(crate) async fn all(
        &self,
        mut after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>, StoreError> {
        let mut found = Vec::new();
        while found.len() < limit {
            let missing = limit - found.len();
            let page = self.scanning().page(after, missing).await?;
            let is_last = page.len() < missing;
            after = page.last().copied();
            found.extend(self.scanning().begun(page, |id| *id).await?);
            if is_last {
                break;
            }
        }
        Ok(found)
    }

    pub(crate) async fn all_creations(
        &self,
        after: Option<&Creation>,
        limit: usize,
    ) -> Result<Vec<Creation>, StoreError> {
        let (mut found, mut after) = (Vec::new(), after.cloned());
        while found.len() < limit {
            let missing = limit - found.len();
            let page = self.scanning().page_with_keys(after.as_ref(), missing).await?;
            let is_last = page.len() < missing;
            after = page.last().cloned();
            found.extend(self.scanning().begun(page, |creation| creation.conversation).await?);
            if is_last {
                break;
            }
        }
        Ok(found)
    }
}

impl Scanning<'_> {
    async fn page(
        self,
        after: Option<ConversationId>,
        limit: usize,
    ) -> Result<Vec<ConversationId>, StoreError> {
        const OPERATION: &str = "list all conversations";
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let rows: Vec<(i64,)> = match after {
            None => self.cql.rows(OPERATION, &self.statements.first, (limit,)).await?,
            Some(after) => {
                self.cql.rows(OPERATION, &self.statements.after, (int(after.get()), limit)).await?
            }
        };
        Ok(rows.into_iter().map(|(id,)| ConversationId::new(id.cast_unsigned())).collect())
    }

    async fn page_with_keys(
        self,
        after: Option<&Creation>,
        limit: usize,
    ) -> Result<Vec<Creation>, StoreError> {
        const OPERATION: &str = "list all creations";
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let rows: Vec<(i64, String, i64)> = match after {
            None => self.cql.rows(OPERATION, &self.statements.first_with_keys, (limit,)).await?,
            Some(Creation { by, key, .. }) => {
                let values = (int(by.get()), key.as_str(), limit);
                self.cql.rows(OPERATION, &self.statements.after_with_keys, values).await?
            }
        };
        let creation = |(by, key, id): (i64, String, i64)| Creation {
            by: UserId::new(by.cast_unsigned()),
            key: ClientId::from_stored(key),
            conversation: ConversationId::new(id.cast_unsigned()),
        };
        Ok(rows.into_iter().map(creation).collect())
    }

    /// Filters out conversations whose creation crashed before their first entry.
    async fn begun<T>(
        self,
        found: Vec<T>,
        id_of: impl Fn(&T) -> ConversationId,
    ) -> Result<Vec<T>, StoreError> {
        let ids: Vec<ConversationId> = found.iter().map(id_of).collect();
        let looks = ids.into_iter().map(|id| self.has_begun(id));
        let have_begun: Vec<bool> = stream::iter(looks).buffered(LOOKS_AT_ONCE_MAX).try_collect().await?;
        Ok(found.into_iter().zip(have_begun).filter_map(|(one, begun)| begun.then_some(one)).collect())
    }

    pub(super) async fn has_begun(self, id: ConversationId) -> Result<bool, StoreError> {
        let values = (int(id.get()), 0_i64);
        let row: Option<(Option<i64>,)> =
            self.cql.row("check whether a log exists", &self.statements.head, values).await?;
        Ok(matches!(row, Some((Some(_),))))
    }
}
