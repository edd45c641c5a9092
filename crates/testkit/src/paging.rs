//! Reads all pages of a list.

use godwit_domain::model::AccountEntry;
use godwit_domain::ports::{Store, StoreError};
use godwit_protocol::UserId;

/// More than any test has. The bound detects a store that returns the same page again and again.
const ITEMS_MAX: usize = 20_000;

/// All items, in pages of `limit`. A page that is not full is the last one.
pub async fn all_pages<T, Position, Page>(
    limit: usize,
    position: impl Fn(&T) -> Position,
    mut page_after: impl FnMut(Option<Position>) -> Page,
) -> Result<Vec<T>, StoreError>
where
    Page: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut all: Vec<T> = Vec::new();
    loop {
        let page = page_after(all.last().map(&position)).await?;
        assert!(page.len() <= limit, "a page of at most {limit} has {} items", page.len());
        let is_last = page.len() < limit;
        all.extend(page);
        assert!(all.len() <= ITEMS_MAX, "the pages have no end");
        if is_last {
            return Ok(all);
        }
    }
}

/// The account log after `after`, in pages of `limit`. `None` if it is incomplete.
pub async fn account_log_after(
    store: &dyn Store,
    user: UserId,
    after: u64,
    limit: usize,
) -> Result<Option<Vec<AccountEntry>>, StoreError> {
    if store.account_log(user, after, 0).await?.is_none() {
        return Ok(None);
    }
    let position = |entry: &AccountEntry| entry.seq;
    let entries = all_pages(limit, position, |last| async move {
        let page = store.account_log(user, last.unwrap_or(after), limit).await?;
        Ok(page.expect("the log was dropped between two pages"))
    });
    entries.await.map(Some)
}
