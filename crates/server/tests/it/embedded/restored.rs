//! A server restored from a backup: its clients have newer entries than the server, and must reset.

use std::path::Path;

use godwit_client::Draft;
use godwit_client::protocol::conversations::UpdateMembership;
use godwit_client::protocol::{ConversationId, Seq};
use tempfile::TempDir;

use super::unlimited;
use crate::follower::Follower;
use crate::logs::{assert_rest_of, read_log};
use crate::people::Person;
use crate::process::ServerProcess;
use crate::resume::send_many;
use crate::wire::Wire;

/// A server that can be reset to its initial state.
struct Stage {
    ada: Person,
    bob: Person,
    chat: ConversationId,
    /// The head at the beginning.
    kept: Seq,
    wire: Wire,
    server: ServerProcess,
    backup: TempDir,
}

impl Stage {
    async fn new() -> Self {
        let mut server = unlimited().await;
        let wire = Wire::to(server.address()).await;
        let [ada, bob] = Person::register_all(&wire.url, ["ada", "bob"]).await;
        let chat = ada.open_direct(&bob).await;
        let kept = send_many(&ada, chat, 10).await;
        server.stop().await;
        let backup = tempfile::tempdir().unwrap();
        copy_folder(server.data_dir(), backup.path());
        server.start_again().await;
        wire.lead_to(server.address());
        Self { ada, bob, chat, kept, wire, server, backup }
    }

    async fn restore(&mut self) {
        self.server.stop().await;
        std::fs::remove_dir_all(self.server.data_dir()).unwrap();
        copy_folder(self.backup.path(), self.server.data_dir());
        self.server.start_again().await;
        self.wire.lead_to(self.server.address());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_reset_a_conversation_whose_log_lost_its_end() {
    let mut stage = Stage::new().await;
    let lost = send_many(&stage.ada, stage.chat, 20).await;
    let follower = Follower::start("bob's phone", stage.bob.http.clone());
    follower.reaches(stage.chat, lost).await;
    stage.restore().await;

    let ahead = stage.bob.http.log(stage.chat, lost, None).await.unwrap();
    assert_eq!((ahead.truncated, ahead.head, ahead.entries.len()), (true, stage.kept, 0));
    follower.is_reset().await;
    let anew = send_many(&stage.ada, stage.chat, 5).await;
    assert!(anew < lost, "the log goes on from the backup");
    follower.reaches(stage.chat, anew).await;
    let mut followed = follower.finish().await;
    assert_eq!(followed.resets, [(stage.chat, stage.kept)]);
    assert_eq!(followed.all_reset, 0);
    let log = read_log(&stage.ada.http, stage.chat).await;
    assert_rest_of(&log, "bob's phone after the reset", &followed.log(stage.chat));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_reload_everything_if_the_account_log_lost_its_end() {
    let mut stage = Stage::new().await;
    let pin = UpdateMembership { pinned: Some(true), ..UpdateMembership::default() };
    stage.bob.http.update_membership(stage.chat, &pin).await.unwrap();
    let token = stage.bob.http.sync(None, None).await.unwrap().token;
    let follower = Follower::start("bob's phone", stage.bob.http.clone());
    follower.reaches(stage.chat, stage.kept).await;
    follower.catches_up().await;
    stage.restore().await;

    let truncated = stage.bob.http.sync(Some(&token), None).await.unwrap();
    assert!(truncated.truncated && truncated.conversations.is_empty());
    let fresh = stage.bob.http.sync(Some(&truncated.token), None).await.unwrap();
    assert_eq!(fresh.conversations.iter().map(|row| row.id).collect::<Vec<_>>(), [stage.chat]);
    follower.is_reset().await;
    let last = stage.ada.http.send_message(stage.chat, Draft::text("anew")).await.unwrap();
    follower.reaches(stage.chat, last.seq).await;
    let mut followed = follower.finish().await;
    assert_eq!((followed.resets.len(), followed.all_reset), (0, 1));
    assert!(followed.log(stage.chat) == read_log(&stage.ada.http, stage.chat).await, "all of it came again");
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    std::fs::set_permissions(to, from.metadata().unwrap().permissions()).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_folder(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
