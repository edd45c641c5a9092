//! Reads lists page by page.

use godwit_domain::ports::StoreError;

/// Rows per page.
pub(crate) const PAGE: usize = 500;

/// All items of a bounded list.
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

/// The length of a list of any length.
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

/// A page that is not full is the last one.
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
