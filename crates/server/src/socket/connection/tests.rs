//! Signing in on a store whose reads fail. The model store lets single reads fail, which no real store does on request.

use godwit_delivery::{Hub, HubConfig};
use godwit_domain::accounts::AccountPolicy;
use godwit_domain::actions::MessagePolicy;
use godwit_domain::allowances::AddingPolicy;
use godwit_domain::ports::{Clock, NoPeers};
use godwit_domain::{App, Parts};
use godwit_protocol::accounts::Register;
use godwit_protocol::conversations::NewConversation;
use godwit_testkit::{ModelStore, Read};
use tokio::sync::watch;

use super::*;
use crate::admission::{Admission, AdmissionConfig};
use crate::auth::{Argon2Hasher, Codec, PasswordConfig, SigningKey, TokenConfig};
use crate::clock::SystemClock;
use crate::opaque::Sealer;
use crate::rate::{RateConfig, RateLimits};
use crate::sign_ins::SignIns;
use crate::state::Shared;

const KEY: [u8; 32] = [7; 32];
const HUB: HubConfig = HubConfig {
    heartbeat_ms: 30_000,
    sign_in_within_ms: 10_000,
    queue_frames_max: 100,
    queue_bytes_max: 1_000_000,
    answers_bytes_max: 1_000_000,
    per_user_max: 10,
    per_device_max: 10,
};

fn state(store: &Arc<ModelStore>, clock: Arc<dyn Clock>) -> ServerState {
    let hub = Arc::new(Hub::new(HUB, clock.clone()));
    let key = SigningKey::new(KEY);
    let passwords = PasswordConfig { memory_kib: 64, iterations: 1, ..PasswordConfig::default() };
    let app = App::new(Parts {
        store: store.clone(),
        delivery: hub.clone(),
        peers: Arc::new(NoPeers),
        clock: clock.clone(),
        tokens: Arc::new(Codec::new(key, None)),
        hasher: Arc::new(Argon2Hasher::new(&passwords).unwrap()),
        lifetimes: TokenConfig::default().lifetimes(),
        policy: AccountPolicy {
            registration_open: true,
            passwords_enabled: true,
            reserved_handles: Vec::new(),
        },
        // Every channel with a reader is large.
        messages: MessagePolicy { fan_out_members_max: 1, ..MessagePolicy::default() },
        adding: AddingPolicy::UNLIMITED,
    });
    Arc::new(Shared {
        app,
        hub,
        clock,
        store: store.clone(),
        rates: RateLimits::new(&RateConfig::default()),
        admission: Admission::new(&AdmissionConfig::default(), 1),
        sign_ins: SignIns::new(key),
        sealer: Sealer::new(key),
        stopping: watch::channel(false).1,
    })
}

fn registration(handle: &str) -> Register {
    Register {
        handle: handle.into(),
        password: "correct horse".into(),
        display_name: None,
        phone: None,
        device_name: None,
    }
}

/// Such a socket would be signed in without following large conversations, and the client would not notice.
#[tokio::test]
async fn a_socket_whose_user_cannot_come_online_is_closed() {
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let store = Arc::new(ModelStore::new(clock.clone()));
    let state = state(&store, clock);
    let (accounts, groups) = (&state.app.accounts, &state.app.groups);
    let ada = accounts.register(registration("ada")).await.unwrap();
    let bob = accounts.add(&registration("bob")).await.unwrap();
    let new =
        NewConversation { name: "News".into(), member_ids: vec![ada.user.id], ..NewConversation::default() };
    groups.create(bob.id, true, new).await.unwrap();
    let token = ada.tokens.access_token.as_str();
    let connection = async || Connection {
        state: state.clone(),
        socket: state.hub.open(),
        address: ClientAddress::UNKNOWN,
        caller: None,
        peer: None,
        bad_frames: 0,
    };
    // The memberships are read before the user follows, and again afterwards.
    for (read, after) in [(Read::FannedOutOnRead, 0), (Read::Member, 0), (Read::Member, 1)] {
        let mut connection = connection().await;
        let (caller, _) = connection.identify(token).await.unwrap();
        store.fail(read, after);
        let refused = connection.admit(token, caller).await.unwrap_err();
        assert_eq!(refused.code(), ErrorCode::Unavailable, "{read:?}");
        assert!(connection.socket.outgoing.is_closed(), "{read:?}");
        let next = connection.socket.outgoing.next().await;
        assert!(matches!(next, Step::Close(CloseCode::Internal)), "{read:?}: {next:?}");
        state.hub.forget(&connection.socket);
    }
    let mut connection = connection().await;
    let (caller, _) = connection.identify(token).await.unwrap();
    connection.admit(token, caller).await.unwrap();
    assert!(!connection.socket.outgoing.is_closed());
}
