//! Going from page to page to the end.

use godwit_domain::ports::StoreError;

/// Rows that are asked for at once.
pub(crate) const PAGE: usize = 500;

/// All items of a list that is bounded.
pub(crate) async fn all<T, Position, Page>(
    position: impl Fn(&T) -> Position,
    page_after: impl FnMut(Option<Position>) -> Page,
) -> Result<Vec<T>, StoreError>
where
    Page: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut all: Vec<T> = Vec::new();
    each_page(position, page_after, |page| all.extend(page)).await?;
    Ok(all)
}

/// How many there are, however many.
pub(crate) async fn count<T, Position, Page>(
    position: impl Fn(&T) -> Position,
    page_after: impl FnMut(Option<Position>) -> Page,
) -> Result<u64, StoreError>
where
    Page: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut count = 0;
    each_page(position, page_after, |page| count += page.len() as u64).await?;
    Ok(count)
}

/// A page that is not full is the last.
async fn each_page<T, Position, Page>(
    position: impl Fn(&T) -> Position,
    mut page_after: impl FnMut(Option<Position>) -> Page,
    mut take: impl FnMut(Vec<T>),
) -> Result<(), StoreError>
where
    Page: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut after = None;
    loop {
        let page = page_after(after).await?;
        after = page.last().map(&position);
        let is_last = page.len() < PAGE;
        take(page);
        if is_last {
            return Ok(());
        }
    }
}
