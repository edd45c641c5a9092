//! Pages of the inbox: the rows of the order, with the hot conversations in their right places.

use std::cmp::Reverse;

use godwit_domain::ports::{ActivityPosition, InboxRow, StoreError};
use godwit_protocol::{ConversationId, Timestamp, UserId};

use super::listing;
use crate::engine::{Direction, Row};
use crate::keys::{self, Section};
use crate::read::Read;
use crate::records::{HeadRecord, HotListRecord};

/// Positions of the conversations of all sections, the latest activity first.
pub(crate) fn active(
    store: &impl Read,
    user: UserId,
    floor: Timestamp,
    after: Option<ActivityPosition>,
    limit: usize,
) -> Result<Vec<ActivityPosition>, StoreError> {
    let all = [(false, true), (false, false), (true, true), (true, false)];
    let sections = all.map(|(archived, pinned)| Section { archived, pinned });
    let rows = Page { user, after, floor: Some(floor), limit }.of(store, &sections)?;
    Ok(rows.iter().map(InboxRow::activity).collect())
}

/// A range of some sections of the order, the latest activity first.
pub(crate) struct Page {
    pub(crate) user: UserId,
    pub(crate) after: Option<ActivityPosition>,
    /// The earliest activity.
    pub(crate) floor: Option<Timestamp>,
    pub(crate) limit: usize,
}

impl Page {
    pub(crate) fn of(&self, store: &impl Read, sections: &[Section]) -> Result<Vec<InboxRow>, StoreError> {
        let hot = hot_list(store, self.user)?;
        let mut positions = Vec::new();
        for conversation in &hot {
            positions.extend(position(store, *conversation)?.filter(|position| self.is_asked(*position)));
        }
        for section in sections {
            positions.extend(self.settled(store, *section, &hot)?);
        }
        positions.sort_unstable_by_key(|position| Reverse(*position));
        let mut page = Vec::new();
        for ActivityPosition { at, conversation } in positions {
            if page.len() == self.limit {
                break;
            }
            // Only the listing says in which section a hot conversation is.
            let listing = listing::of(store, self.user, conversation)?;
            if sections.contains(&listing.section()) {
                page.push(InboxRow { conversation, settings: listing.into_settings(), activity_at: at });
            }
        }
        Ok(page)
    }

    fn is_asked(&self, position: ActivityPosition) -> bool {
        self.after.is_none_or(|after| position < after) && self.floor.is_none_or(|floor| position.at >= floor)
    }

    /// The first rows of a section, without those of hot conversations.
    fn settled(
        &self,
        store: &impl Read,
        section: Section,
        hot: &[ConversationId],
    ) -> Result<Vec<ActivityPosition>, StoreError> {
        let (mut rows, mut after) = (Vec::new(), self.after);
        loop {
            let missing = self.limit - rows.len();
            let range = keys::order_after(self.user, section, after, self.floor);
            let page = store.page(&range, Direction::Forward, missing)?;
            let is_last = page.len() < missing;
            for (key, _) in page {
                let position = keys::decode_order(&key)?;
                after = Some(position);
                if !hot.contains(&position.conversation) {
                    rows.push(position);
                }
            }
            if is_last || rows.len() == self.limit {
                return Ok(rows);
            }
        }
    }
}

/// All rows of a section. Rows of hot conversations are included, with the activity of their heads.
pub(crate) fn all_of(store: &impl Read, user: UserId, section: Section) -> Result<Vec<InboxRow>, StoreError> {
    let rows = store.all(&keys::order_after(user, section, None, None))?;
    let hot = if rows.is_empty() { Vec::new() } else { hot_list(store, user)? };
    let row = |(key, _): &Row| {
        let stands = keys::decode_order(key)?;
        let conversation = stands.conversation;
        let position = if hot.contains(&conversation) { position(store, conversation)? } else { None };
        let activity_at = position.unwrap_or(stands).at;
        let settings = listing::of(store, user, conversation)?.into_settings();
        Ok(InboxRow { conversation, settings, activity_at })
    };
    rows.iter().map(row).collect()
}

fn hot_list(store: &impl Read, user: UserId) -> Result<Vec<ConversationId>, StoreError> {
    let hot: Option<HotListRecord> = store.record(&keys::hot_list(user))?;
    Ok(hot.unwrap_or_default().0)
}

/// The right position of a conversation, from its head.
fn position(store: &impl Read, conversation: ConversationId) -> Result<Option<ActivityPosition>, StoreError> {
    let head: Option<HeadRecord> = store.record(&keys::head(conversation))?;
    Ok(head.map(|head| ActivityPosition { at: head.standing.activity_at, conversation }))
}
