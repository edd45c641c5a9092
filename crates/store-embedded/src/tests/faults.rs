//! A real disk that refuses a write: a process of its own with a limit on the size of its files, which the
//! journal reaches while messages are sent.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use godwit_domain::ports::{Clock, ConversationStore, Store, StoreError, UserStore};
use godwit_protocol::{ConversationId, MessageId, Seq, UserId};
use godwit_testkit::{Scene, TestClock};

use super::{Site, scene};
use crate::{EmbeddedStore, Options};

/// Tells the second process, which runs this test again, where the data is.
const FOLDER: &str = "GODWIT_TEST_FAULT_FOLDER";
/// In blocks of the shell, of 512 or 1,024 bytes.
const FILE_BLOCKS_MAX: &str = "3000";
const SENDERS: usize = 16;
/// Far more than the limit allows, so that a store that does not stop fails the test instead of hanging it.
const SENDS_MAX: usize = 2_000;

#[test]
fn a_disk_that_refuses_a_write_stops_the_store_and_nothing_acknowledged_is_lost() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    if let Some(folder) = std::env::var_os(FOLDER) {
        return runtime.block_on(send_until_it_stops(Path::new(&folder)));
    }
    let site = Site::new();
    let store = site.open();
    runtime.block_on(store.close()).unwrap();
    drop(store);

    let output = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f \"$1\"; shift; exec \"$@\"", "sh", FILE_BLOCKS_MAX])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "--test-threads=1"])
        .arg(format!(
            "{}::a_disk_that_refuses_a_write_stops_the_store_and_nothing_acknowledged_is_lost",
            test_path()
        ))
        .env(FOLDER, site.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
    let acknowledged: Vec<(ConversationId, Vec<MessageId>)> = said.lines().filter_map(parse).collect();
    assert_eq!(acknowledged.len(), SENDERS, "{said}");
    assert!(acknowledged.iter().map(|(_, messages)| messages.len()).sum::<usize>() > SENDERS, "{said}");

    let store = site.open();
    runtime.block_on(async {
        for (conversation, messages) in acknowledged {
            for message in messages {
                let place = store.locate(message).await.unwrap();
                assert_eq!(place.map(|(id, _)| id), Some(conversation), "{message:?} was acknowledged");
            }
            let head = store.load(conversation).await.unwrap().unwrap().head.seq;
            let entries = store.entries(conversation, Seq::ZERO, usize::MAX / 2).await.unwrap();
            assert_eq!(entries.last().map(|item| item.entry.seq), Some(head), "the log and its head agree");
        }
        scene(&store).chat().await.expect("an opened store takes writes again");
    });
}

/// Runs in the second process.
async fn send_until_it_stops(folder: &Path) {
    let clock: Arc<dyn Clock> = Arc::new(TestClock::default());
    let store = Arc::new(EmbeddedStore::open(folder, clock, Options::default()).unwrap());
    let s = scene(&store);
    let mut senders = Vec::new();
    for _ in 0..SENDERS {
        let chat = s.chat().await.unwrap();
        let (s, store) = (s.clone(), Arc::clone(&store));
        senders.push(tokio::spawn(async move {
            (chat.id, send_until_refused(&s, &store, chat.id, chat.ada).await)
        }));
    }
    let mut acknowledged = Vec::new();
    for sender in senders {
        acknowledged.push(sender.await.unwrap());
    }
    let fsyncs = store.stats().fsyncs;
    assert!(matches!(store.health(), Err(StoreError::Stopped)));
    for _ in 0..3 {
        assert!(matches!(store.create_user(s.new_user()).await, Err(StoreError::Stopped)));
    }
    assert!(matches!(store.close().await, Err(StoreError::Stopped)));
    assert_eq!(store.stats().fsyncs, fsyncs, "nothing is made durable after the failure");
    for (conversation, messages) in acknowledged {
        let last = *messages.last().unwrap();
        assert!(store.locate(last).await.unwrap().is_some(), "it can still be read");
        let messages: Vec<_> = messages.iter().map(ToString::to_string).collect();
        println!("\nacknowledged {conversation} {}", messages.join(" "));
    }
}

async fn send_until_refused(
    s: &Scene,
    store: &EmbeddedStore,
    id: ConversationId,
    sender: UserId,
) -> Vec<MessageId> {
    let mut acknowledged = Vec::new();
    while acknowledged.len() < SENDS_MAX {
        let text = format!("{:0>500}", acknowledged.len());
        let append = s.batch(id).await.unwrap().text(sender, &text).build();
        let message = MessageId::new(append.entries[0].id);
        match store.append(&append).await {
            Ok(_) => acknowledged.push(message),
            Err(error) => {
                assert!(matches!(error, StoreError::Stopped), "{error:?}");
                return acknowledged;
            }
        }
    }
    panic!("the disk refused and the store went on");
}

fn parse(line: &str) -> Option<(ConversationId, Vec<MessageId>)> {
    let mut ids = line.strip_prefix("acknowledged ")?.split(' ');
    Some((ids.next()?.parse().ok()?, ids.map(|id| id.parse().unwrap()).collect()))
}

/// The name of this module for the test runner, without the crate.
fn test_path() -> &'static str {
    module_path!().split_once("::").map_or("", |(_, path)| path)
}
