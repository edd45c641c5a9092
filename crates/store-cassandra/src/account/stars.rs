//! Starred messages.

use godwit_domain::model::Star;
use godwit_domain::ports::StoreError;
use godwit_protocol::{MessageId, UserId};

use super::Accounts;
use super::rows::{Key, STAR, StarBody};
use super::txn::decode;
use crate::values::{int, row_limit};

impl Accounts {
    pub(crate) async fn stars(
        &self,
        user: UserId,
        before: Option<MessageId>,
        limit: usize,
    ) -> Result<Vec<Star>, StoreError> {
        let Some(limit) = row_limit(limit) else { return Ok(Vec::new()) };
        let before = before.map_or(i64::MAX, |before| int(before.get()));
        let values = (int(user.get()), STAR, before, limit);
        let rows: Vec<(i64, String)> =
            self.cql.rows("list stars", &self.statements.bodies_below, values).await?;
        let star = |(id, body): (i64, String)| {
            let body: StarBody = decode(user, Key { kind: STAR, id }, &body)?;
            Ok(body.into_star(MessageId::new(id.cast_unsigned())))
        };
        rows.into_iter().map(star).collect()
    }
}
