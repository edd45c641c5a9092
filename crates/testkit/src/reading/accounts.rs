//! The data of one user.

use godwit_domain::model::Star;
use godwit_domain::ports::{CHANGE_GRAIN_MS, ChangedRow, InboxRow, SeqRange, Store, StoreError, change_time};
use godwit_protocol::{Seq, Timestamp, UserId};

use super::{Known, PAGE_SIZES, Readings, without_seq};
use crate::due::{due_expiries_in, due_scheduled_of};
use crate::paging::{account_log_after, all_pages};

impl Readings {
    pub(super) async fn account(&mut self, store: &dyn Store, user: UserId) -> Result<(), StoreError> {
        self.add(format!("devices of {user}"), store.devices_of(user).await?);
        for limit in PAGE_SIZES {
            let blocked = all_pages(limit, |id| *id, |after| store.blocked_by(user, after, limit)).await?;
            self.add(format!("blocked by {user} by {limit}"), blocked);
            let log = account_log_after(store, user, 0, limit).await?.expect("the log is short");
            assert!(log.is_sorted_by_key(|entry| entry.seq), "the account log of {user} is not in order");
            let read_to = log.last().map_or(0, |entry| entry.seq);
            assert_eq!(store.account_head(user).await?, read_to, "the account log of {user} ends elsewhere");
            let log: Vec<_> = log.into_iter().map(without_seq).collect();
            self.add(format!("account log of {user} by {limit}"), log);
        }
        Ok(())
    }

    pub(super) async fn inbox(
        &mut self,
        store: &dyn Store,
        user: UserId,
        known: &Known,
    ) -> Result<(), StoreError> {
        for limit in PAGE_SIZES {
            for archived in [false, true] {
                let page = |after| store.inbox(user, archived, after, limit);
                let rows = all_pages(limit, InboxRow::activity, page).await?;
                self.add(format!("inbox of {user}, archived {archived}, by {limit}"), rows);
            }
            for &floor in &known.times {
                let floor = if known.changes_by_minute { just_after_a_minute(floor) } else { floor };
                let page = |after| store.changed_since(user, floor, after, limit);
                let mut rows = all_pages(limit, ChangedRow::position, page).await?;
                if known.changes_by_minute {
                    rows.iter_mut().for_each(|row| row.changed_at = change_time(row.changed_at));
                    rows.sort_by_key(ChangedRow::position);
                }
                self.add(format!("changed of {user} since {floor} by {limit}"), rows);
            }
        }
        let mut pinned = store.pinned(user).await?;
        pinned.sort_by_key(|row| row.conversation);
        self.add(format!("pinned by {user}"), pinned);
        let mut large = store.fanned_out_on_read(user).await?;
        large.sort_by_key(|row| row.conversation);
        self.add(format!("fanned out on read for {user}"), large);
        for &id in &known.conversations {
            self.add(format!("settings of {user} in {id}"), store.settings(user, id).await?);
        }
        Ok(())
    }

    pub(super) async fn personal(
        &mut self,
        store: &dyn Store,
        user: UserId,
        known: &Known,
    ) -> Result<(), StoreError> {
        for &id in &known.conversations {
            for (after, before) in [(0, u64::MAX), (1, 6), (3, 5), (5, 5)] {
                let range = SeqRange { after: Seq::new(after), before: Seq::new(before) };
                let hidden = store.hidden(user, id, range).await?;
                self.add(format!("hidden from {user} in {id}, {after} to {before}"), hidden);
            }
        }
        for limit in PAGE_SIZES {
            let page = |before| store.stars(user, before, limit);
            let stars = all_pages(limit, |star: &Star| star.message_id, page).await?;
            self.add(format!("stars of {user} by {limit}"), stars);
        }
        let mut scheduled = store.scheduled(user).await?;
        scheduled.sort_by_key(|scheduled| scheduled.id);
        self.add(format!("scheduled by {user}"), scheduled);
        for &id in &known.scheduled {
            self.add(format!("scheduled {id} by {user}"), store.scheduled_one(user, id).await?);
        }
        Ok(())
    }

    /// The due items of known users and conversations; others may have due items too.
    pub(super) async fn due(&mut self, store: &dyn Store, known: &Known) -> Result<(), StoreError> {
        for &now in &known.times {
            let expiries = due_expiries_in(store, now, &known.conversations).await?;
            self.add(format!("expiries due at {now}"), expiries);
            self.add(format!("scheduled due at {now}"), due_scheduled_of(store, now, &known.users).await?);
        }
        Ok(())
    }
}

/// A floor that finds the same changes with exact times as with those of [`change_time`].
fn just_after_a_minute(at: Timestamp) -> Timestamp {
    change_time(at).plus_millis(1 - CHANGE_GRAIN_MS)
}
