use godwit_client::protocol::socket::CloseCode;
use rustix::process::Signal;

use crate::people::soon;
use crate::raw_socket::{Ended, RawSocket};
use crate::senders::{Load, assert_all_there};
use crate::store::Enough;
use crate::unlimited::unlimited;

/// Acknowledged messages before the stop.
const ACKNOWLEDGED: Enough = Enough { embedded: 200, cassandra: 40 };

#[tokio::test]
async fn a_stop_finishes_requests_in_flight_and_asks_sockets_to_reconnect() {
    let mut server = unlimited().await;
    let load = Load::start(&server).await;
    let mut listening = RawSocket::open(server.address(), load.ada.http.access_token().as_deref()).await;
    load.until_acknowledged(ACKNOWLEDGED.here()).await;
    let mut anonymous = RawSocket::open(server.address(), None).await;
    let closes = tokio::spawn(async move { (listening.until_end().await, anonymous.until_end().await) });
    server.signal(Signal::TERM);
    let status = server.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.stderr());
    let (signed_in, anonymous) = soon("the sockets to be closed", closes).await.unwrap();
    for (said, ended) in [signed_in, anonymous] {
        assert_eq!(ended, Ended::Closed(CloseCode::ServiceRestart));
        let wait = &said.last().unwrap()["reconnect"]["after_ms"];
        assert!(wait.as_u64().is_some_and(|wait| wait <= 5_000), "{said:?}");
    }
    let (mut ada, _, direct, acknowledged) = load.end().await;
    server.start_again().await;
    ada.follow(&server.url());
    assert_all_there(&ada.http, direct, &acknowledged).await;
}
