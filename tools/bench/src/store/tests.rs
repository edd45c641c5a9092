//! A small run of all scenarios, and tests that faults of a store are detected.

use std::sync::Arc;
use std::time::Duration;

use godwit_domain::model::Entry;
use godwit_domain::ports::Store;
use godwit_protocol::Seq;
use tempfile::TempDir;

use super::chat::Chat;
use super::location::Location;
use super::measure;
use super::plan::Plan;
use super::verify::{self, Reading, Violation};
use crate::progress::Progress;

fn small() -> Plan {
    Plan {
        time: Duration::from_millis(10),
        appends: vec![(1, 1), (3, 4)],
        history_messages: 300,
        inboxes: vec![2, 9],
        page: 5,
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_scenarios_run_and_report_every_figure() {
    let folders = [TempDir::new().unwrap(), TempDir::new().unwrap()];
    let stores = folders.each_ref().map(|folder| Location::Embedded(folder.path().to_owned()));
    let report = measure(&stores, &small(), Progress::Silent).await.unwrap();
    let table = report.table();
    for scenario in [
        "append: 1 conversation × 1 message",
        "append: 3 conversations × 4 messages",
        "load a conversation, cold",
        "history: the newest 5 of 300",
        "inbox: the first 5 of 2",
        "inbox: the first 5 of 9",
        "client id: sent before",
        "client id: new",
        "starting, stopping, disk",
    ] {
        assert!(table.lines().any(|line| line == scenario), "{scenario} is missing in\n{table}");
    }
    let json = report.json(&small());
    let figures = json["figures"].as_array().unwrap();
    for (figure, times) in
        [("messages/s", 2), ("messages per fsync", 2), ("reads/s", 6), ("p50", 8), ("max", 8), ("start", 1)]
    {
        let told = figures.iter().filter(|told| told["figure"] == figure).count();
        assert_eq!(told, 2 * times, "{figure} in {json:#}");
    }
    for figure in figures {
        // No append is durable within a microsecond.
        let least = if figure["scenario"].as_str().unwrap().starts_with("append") { 1.0 } else { 0.0 };
        assert!(figure["value"].as_f64().unwrap() >= least, "{figure}");
    }
}

/// A store with a conversation and messages.
struct Talk {
    store: Arc<dyn Store>,
    chat: Chat,
    _folder: TempDir,
}

impl Talk {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let store = Location::Embedded(folder.path().to_owned()).open().await.unwrap().port();
        let mut chat = Chat::new(&*store).await.unwrap();
        chat.say(&*store, 700).await.unwrap();
        Self { store, chat, _folder: folder }
    }

    async fn check(&self) -> anyhow::Result<()> {
        verify::logs(&*self.store, &[&self.chat], Progress::Silent.step("")).await
    }
}

#[tokio::test]
async fn an_intact_log_passes() {
    Talk::new().await.check().await.unwrap();
}

#[tokio::test]
async fn a_gap_in_a_store_is_an_error() {
    let mut talk = Talk::new().await;
    // A head that is one beyond the entries: the next append leaves a gap.
    let mut append = talk.chat.next(talk.store.ids(), 1).unwrap();
    append.effects.head.seq = append.effects.head.seq.next();
    append.effects.apply_to(&mut talk.chat.state);
    talk.store.append(&append).await.unwrap();
    talk.chat.say(&*talk.store, 1).await.unwrap();
    talk.check().await.unwrap_err();
}

#[tokio::test]
async fn lost_messages_are_found() {
    let mut talk = Talk::new().await;
    talk.chat.state.head = talk.chat.next(talk.store.ids(), 3).unwrap().effects.head;
    let (conversation, acknowledged) = (talk.chat.id, talk.chat.head().seq);
    let lost = Violation::End { conversation, acknowledged, found: Seq::new(701) };
    assert_eq!(talk.check().await.unwrap_err().downcast::<Violation>().unwrap(), lost);
}

#[tokio::test]
async fn a_gap_a_duplicate_and_a_change_are_found() {
    let Talk { store, chat, .. } = Talk::new().await;
    let conversation = chat.id;
    let log = store.entries(conversation, Seq::ZERO, 1_000).await.unwrap();
    let log: Vec<Entry> = log.into_iter().map(|item| item.entry).collect();
    let check = |change: fn(&mut Vec<Entry>)| {
        let mut log = log.clone();
        change(&mut log);
        let mut reading = Reading::new(&chat);
        log.iter().try_for_each(|entry| reading.entry(entry)).and_then(|()| reading.end())
    };
    let order =
        |after, found| Violation::Order { conversation, after: Seq::new(after), found: Seq::new(found) };
    assert_eq!(check(|_| {}), Ok(()));
    assert_eq!(check(|log| drop(log.remove(40))), Err(order(40, 42)), "a gap");
    assert_eq!(check(|log| log.insert(40, log[39].clone())), Err(order(40, 40)), "an entry twice");
    let changed = |seq| Violation::Changed { conversation, seq: Seq::new(seq) };
    let same_message = |log: &mut Vec<Entry>| log[40].change = log[39].change.clone();
    assert_eq!(check(same_message), Err(changed(41)), "a message in two entries");
    assert_eq!(check(|log| log[40].id = log[39].id), Err(changed(41)), "an id twice");
    assert_eq!(check(|log| log[40].ordinal += 1), Err(changed(41)), "a message that was not counted");
}
