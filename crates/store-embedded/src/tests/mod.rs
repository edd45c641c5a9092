//! Tests of what is particular to this store. The conformance suite of `godwit-testkit` tests what every store
//! does.

mod account;
mod committer;
mod conversation;
mod disk;
#[cfg(unix)]
mod faults;
mod folder;
mod golden;
mod inbox;
mod keys;
mod overlay;
mod records;
mod transfer;

use std::path::Path;
use std::sync::Arc;

use godwit_domain::ports::{Clock, InboxRow, InboxStore};
use godwit_protocol::{ConversationId, UserId};
use godwit_testkit::{Scene, TestClock};
use tempfile::TempDir;

use crate::keys::Section;
use crate::read::Read;
use crate::records::HotListRecord;
use crate::{EmbeddedStore, OpenError, Options};

/// A folder and a clock on which a store can be opened repeatedly.
struct Site {
    folder: TempDir,
    clock: Arc<TestClock>,
}

impl Site {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), clock: Arc::new(TestClock::default()) }
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn try_open(&self, options: Options) -> Result<EmbeddedStore, OpenError> {
        EmbeddedStore::open(self.path(), Arc::clone(&self.clock) as Arc<dyn Clock>, options)
    }

    fn open(&self) -> Arc<EmbeddedStore> {
        Arc::new(self.try_open(Options::default()).unwrap())
    }
}

fn scene(store: &Arc<EmbeddedStore>) -> Scene {
    Scene::new(vec![Arc::clone(store) as _])
}

/// The whole inbox, read in pages of `limit`.
async fn inbox(store: &EmbeddedStore, user: UserId, archived: bool, limit: usize) -> Vec<InboxRow> {
    let page = |after| store.inbox(user, archived, after, limit);
    godwit_testkit::paging::all_pages(limit, InboxRow::activity, page).await.unwrap()
}

async fn listed(store: &EmbeddedStore, user: UserId) -> Vec<ConversationId> {
    inbox(store, user, false, 50).await.into_iter().map(|row| row.conversation).collect()
}

/// The number of a user's rows in the order of the inbox.
fn order_rows(store: &EmbeddedStore, user: UserId) -> usize {
    let sections = [(false, true), (false, false), (true, true), (true, false)];
    let range = |(archived, pinned)| crate::keys::order_after(user, Section { archived, pinned }, None, None);
    sections.map(|section| store.engine.view().all(&range(section)).unwrap().len()).iter().sum()
}

fn hot_list(store: &EmbeddedStore, user: UserId) -> Vec<ConversationId> {
    store.engine.view().record::<HotListRecord>(&crate::keys::hot_list(user)).unwrap().unwrap_or_default().0
}
