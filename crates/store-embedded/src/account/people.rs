//! The search index of users, by prefixes of the words of their profiles.

use std::collections::BTreeSet;

use godwit_domain::model::User;
use godwit_domain::ports::StoreError;
use godwit_protocol::UserId;
use godwit_protocol::limits::HANDLE_CHARS_MAX;

use super::users::user;
use crate::engine::Direction;
use crate::keys;
use crate::read::Read;
use crate::records::present;
use crate::txn::Txn;

/// Length of an indexed prefix, in characters: that of the longest handle, so that whole handles are indexed.
const PREFIX_CHARS_MAX: usize = HANDLE_CHARS_MAX;

/// Indexes a user whose profile changes.
pub(super) fn index(txn: &mut Txn<'_>, before: Option<&User>, after: &User) {
    let (old, new) = (before.map(indexed_prefixes).unwrap_or_default(), indexed_prefixes(after));
    for prefix in old.difference(&new) {
        txn.remove(keys::prefix(prefix, after.id));
    }
    for prefix in new.difference(&old) {
        txn.put(keys::prefix(prefix, after.id), present());
    }
}

/// The prefixes by which a user is found. Each has a row, so a search scans one range: in the order of ids, and
/// with each user once, even if several of their words match. Disabled users have no rows, so no search has to
/// skip them.
fn indexed_prefixes(user: &User) -> BTreeSet<String> {
    user.words_in_search().iter().flat_map(|word| prefixes(word)).map(str::to_owned).collect()
}

fn prefixes(word: &str) -> impl Iterator<Item = &str> {
    word.char_indices().take(PREFIX_CHARS_MAX).map(|(start, char)| &word[..start + char.len_utf8()])
}

/// A prefix longer than the indexed ones is searched among the users who share its longest indexed prefix.
pub(crate) fn search(
    store: &impl Read,
    prefix: &str,
    mut after: Option<UserId>,
    limit: usize,
) -> Result<Vec<User>, StoreError> {
    let Some(indexed) = prefixes(prefix).last() else { return Ok(Vec::new()) };
    let is_found = |user: &User| user.is_in_search_for(prefix);
    let mut found = Vec::new();
    loop {
        let missing = limit - found.len();
        let page = store.page(&keys::prefix_after(indexed, after), Direction::Forward, missing)?;
        let is_last = page.len() < missing;
        for (key, _) in page {
            let id = UserId::new(keys::last_id("prefixes", &key)?);
            found.extend(user(store, id)?.filter(is_found));
            after = Some(id);
        }
        if is_last || found.len() == limit {
            return Ok(found);
        }
    }
}
