//! Starred messages.

use godwit_domain::model::{AccountEntry, AccountNote, Star};
use godwit_domain::ports::{Listed, StoreError};
use godwit_protocol::{MessageId, UserId};

use super::rows::{Key, STAR, StarBody};
use super::snapshot::Want;
use super::txn::{Txn, decode};
use super::{Accounts, log};
use crate::values::{int, row_limit};

impl Accounts {
    pub(crate) async fn star(
        &self,
        user: UserId,
        star: Star,
        max: usize,
        note: AccountNote,
    ) -> Result<Listed, StoreError> {
        let key = Key::star(star.message_id);
        let run = move |txn: &mut Txn<'_>| {
            if txn.get::<StarBody>(key)?.is_some() {
                return Ok(Listed::Unchanged);
            }
            if txn.head().stars >= max as u64 {
                return Ok(Listed::Full);
            }
            txn.put(key, &StarBody::from(&star));
            txn.head_mut().stars += 1;
            log::write(txn, &note).map(Listed::Added)
        };
        self.writer.write("star a message", user, [Want::Row(key), log::wants(&note)], run).await
    }

    pub(crate) async fn unstar(
        &self,
        user: UserId,
        message: MessageId,
        note: AccountNote,
    ) -> Result<Option<AccountEntry>, StoreError> {
        let key = Key::star(message);
        let run = move |txn: &mut Txn<'_>| {
            if txn.get::<StarBody>(key)?.is_none() {
                return Ok(None);
            }
            txn.remove(key);
            txn.head_mut().stars -= 1;
            log::write(txn, &note).map(Some)
        };
        self.writer.write("take a star away", user, [Want::Row(key), log::wants(&note)], run).await
    }

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
