//! Going from page to page to the end.

use godwit_domain::ports::StoreError;

/// Rows that are asked for at once.
pub(crate) const PAGE: usize = 500;

/// All items of a list that is bounded. A page that is not full is the last.
pub(crate) async fn all<T, Position, Page>(
    position: impl Fn(&T) -> Position,
    mut page_after: impl FnMut(Option<Position>) -> Page,
) -> Result<Vec<T>, StoreError>
where
    Page: Future<Output = Result<Vec<T>, StoreError>>,
{
    let mut all: Vec<T> = Vec::new();
    loop {
        let page = page_after(all.last().map(&position)).await?;
        let is_last = page.len() < PAGE;
        all.extend(page);
        if is_last {
            return Ok(all);
        }
    }
}
