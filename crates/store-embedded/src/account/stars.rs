//! Starred messages.

use godwit_domain::model::Star;
use godwit_domain::ports::StoreError;
use godwit_protocol::{MessageId, UserId};

use crate::engine::{Direction, Row, View};
use crate::keys;
use crate::records::{Record, StarRecord};

pub(crate) fn stars(
    view: &View,
    user: UserId,
    before: Option<MessageId>,
    limit: usize,
) -> Result<Vec<Star>, StoreError> {
    let star = |(key, value): &Row| {
        let id = MessageId::new(keys::last_id(StarRecord::TABLE, key)?);
        Ok(StarRecord::decode(key, value)?.into_star(id))
    };
    view.page(&keys::stars_before(user, before), Direction::Backward, limit)?.iter().map(star).collect()
}
