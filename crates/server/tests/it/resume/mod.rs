//! Resuming after an interruption.
//!
//! - `streams`: sockets that are cut and servers that restart while everybody sends
//! - `away`: clients that were away for longer
//!
//! `embedded::restored` covers a server that has less than its clients have seen.

mod away;
mod streams;

use futures_util::future::try_join_all;
use godwit_client::Draft;
use godwit_client::protocol::{ConversationId, Seq};

use crate::people::{Person, open_socket};

/// Sends this many messages as fast as one socket takes them.
pub(crate) async fn send_many(by: &Person, chat: ConversationId, count: usize) -> Seq {
    let (socket, mut events) = open_socket(&by.http).await;
    let drain = tokio::spawn(async move { while events.next().await.is_some() {} });
    let sends = (0..count).map(|number| socket.send(chat, Draft::text(format!("{number}"))));
    let sent = try_join_all(sends).await.unwrap();
    socket.close().await;
    drain.await.unwrap();
    sent.last().unwrap().seq
}
