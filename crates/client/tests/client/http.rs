//! The requests of every route, and the single-flight refresh of tokens.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use futures_util::FutureExt;
use godwit_client::History;
use godwit_client::http::{HttpConfig, Members};
use godwit_client::protocol::accounts::{ChangePassword, Register, SignIn, Tokens, UpdateMe};
use godwit_client::protocol::conversations::{
    DeleteFor, MoveCursor, Role, UpdateConversation, UpdateMembership,
};
use godwit_client::protocol::groups::CreateInvite;
use godwit_client::protocol::personal::{ScheduleMessage, UpdateScheduled};
use godwit_client::protocol::{DeviceId, ErrorCode, InviteId, MessageId, ScheduledId, Seq, UserId};
use godwit_client::{Draft, Error, Http};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};

use crate::fake::Peer;
use crate::sample::{self, C, ME, PEER, now, problem};

pub(crate) fn tokens(number: u32) -> Tokens {
    Tokens {
        access_token: format!("access-{number}"),
        access_expires_at: now(),
        refresh_token: format!("refresh-{number}"),
        refresh_expires_at: now(),
    }
}

#[derive(Clone, Default)]
struct Script {
    answers: Arc<Mutex<VecDeque<(u16, Value)>>>,
    /// Method, path with query, token, body.
    asked: Arc<Mutex<Vec<(String, String, Value)>>>,
}

async fn answer(State(script): State<Script>, headers: HeaderMap, request: Request) -> Response {
    let line = format!("{} {}", request.method(), request.uri());
    let token = headers.get("authorization").map_or("", |value| value.to_str().unwrap()).to_owned();
    let body: Bytes = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    script.asked.lock().unwrap().push((line, token, body));
    let (status, body) = script.answers.lock().unwrap().pop_front().expect("an answer");
    (StatusCode::from_u16(status).unwrap(), Json(body)).into_response()
}

async fn serve(app: Router) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, app).await });
    url
}

impl Script {
    async fn http(&self) -> Http {
        let url = serve(Router::new().fallback(answer).with_state(self.clone())).await;
        Http::new(&url).unwrap()
    }

    fn say(&self, status: u16, body: Value) {
        self.answers.lock().unwrap().push_back((status, body));
    }

    fn last(&self) -> (String, String, Value) {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

fn value(of: &impl serde::Serialize) -> Value {
    serde_json::to_value(of).unwrap()
}

fn me() -> Value {
    json!({ "id": "1", "handle": "me", "display_name": "Me", "presence_visible": true, "read_receipts": true, "may_be_added_by": "everybody",
        "created_at": now() })
}

fn signed_in() -> Value {
    let socket = sample::signed_in();
    json!({ "user": me(), "device": socket.device, "tokens": tokens(0), "device_proof": "proof" })
}

/// Calls one method. The server answers with `$answer`, and checks that the request was `$line`.
macro_rules! route {
    ($script:ident, $line:literal, $status:literal, $answer:expr, $call:expr) => {{
        $script.say($status, $answer);
        let result = $call.await;
        assert_eq!($script.last().0, $line);
        result.unwrap()
    }};
}

#[tokio::test]
async fn every_route_matches_the_api() {
    let script = Script::default();
    let http = script.http().await;
    let s = &script;
    let message_id = MessageId::new(118_059_912_994_951_168);
    let register = Register {
        handle: "me".into(),
        password: "secret words".into(),
        display_name: None,
        phone: None,
        device_name: None,
    };
    let sign_in = SignIn {
        handle: "me".into(),
        password: "secret words".into(),
        device_name: None,
        device_proof: None,
    };
    let change = ChangePassword { current_password: "a".into(), new_password: "b".into() };
    let users = json!({ "users": [] });
    let conversation = sample::conversation(C, 3, 3);
    let inbox = json!({ "conversations": [], "next": "n" });
    let messages = json!({ "messages": [], "more_before": false, "more_after": true });
    let message = sample::message(C, 1, ME, &Draft::text("hi").client_id("x").into());
    let receipts = json!({ "receipts": [], "delivered_to_all": true, "read_by_all": false });
    let cursor = MoveCursor { read: Some(Seq::new(3)), ..MoveCursor::default() };

    route!(s, "POST /v1/accounts", 201, signed_in(), http.register(&register));
    route!(s, "POST /v1/sessions", 201, signed_in(), http.sign_in(&sign_in));
    assert_eq!(s.last().1, "", "a sign-in carries no token");
    route!(s, "GET /v1/me", 200, me(), http.me());
    assert_eq!(s.last().1, "Bearer access-0");
    route!(
        s,
        "PATCH /v1/me",
        200,
        me(),
        http.update_me(&UpdateMe { phone: Some(None), ..UpdateMe::default() })
    );
    assert_eq!(s.last().2, json!({ "phone": null }));
    let changed = json!({ "tokens": tokens(1) });
    route!(s, "PUT /v1/me/password", 200, changed, http.change_password(&change));
    assert_eq!(s.last().1, "Bearer access-0");
    assert_eq!(http.tokens().unwrap().refresh_token, "refresh-1");
    route!(s, "GET /v1/devices", 200, json!({ "devices": [] }), http.devices());
    route!(s, "DELETE /v1/devices/5", 204, Value::Null, http.revoke_device(DeviceId::new(5)));
    route!(
        s,
        "GET /v1/users?query=a+%26&after=n&limit=5",
        200,
        users.clone(),
        http.search_users("a &", Some("n"), Some(5))
    );
    let details = json!({ "id": "2", "handle": "p", "display_name": "P", "blocked": false });
    route!(s, "GET /v1/users/2", 200, details, http.user(PEER));
    route!(s, "GET /v1/blocks", 200, users, http.blocks(None, None));
    route!(s, "PUT /v1/blocks/2", 204, Value::Null, http.block(UserId::new(2)));
    route!(s, "DELETE /v1/blocks/2", 204, Value::Null, http.unblock(UserId::new(2)));
    let created = route!(s, "POST /v1/conversations", 201, value(&conversation), http.direct(PEER));
    assert!(created.is_new && created.id == C);
    assert_eq!(s.last().2, json!({ "kind": "direct", "user_id": "2" }));
    let found = route!(s, "POST /v1/conversations", 200, value(&conversation), http.direct(PEER));
    assert!(!found.is_new);
    route!(
        s,
        "GET /v1/conversations?after=n&limit=2",
        200,
        inbox.clone(),
        http.conversations(Some("n"), Some(2))
    );
    route!(s, "GET /v1/conversations?archived=true", 200, inbox, http.archived_conversations(None, None));
    route!(s, "GET /v1/conversations/100", 200, value(&conversation), http.conversation(C));
    let update = UpdateMembership { pinned: Some(true), ..UpdateMembership::default() };
    route!(
        s,
        "PATCH /v1/conversations/100/me",
        200,
        value(&conversation.me),
        http.update_membership(C, &update)
    );
    route!(
        s,
        "PUT /v1/conversations/100/cursor",
        200,
        value(&conversation.cursors[0]),
        http.move_cursor(C, &cursor)
    );
    let sent = route!(
        s,
        "POST /v1/conversations/100/messages",
        201,
        value(&message),
        http.send_message(C, Draft::text("hi").client_id("x"))
    );
    assert!(sent.is_new);
    assert_eq!(s.last().2, json!({ "client_id": "x", "kind": "text", "text": "hi" }));
    for (history, line) in [
        (History::Newest, "?limit=9"),
        (History::Before(Seq::new(7).into()), "?before=7&limit=9"),
        (History::After(message_id.into()), "?after=118059912994951168&limit=9"),
        (History::Around(Seq::new(7).into()), "?around=7&limit=9"),
        (History::BeforeTime(now()), "?before_time=2027-01-15T08%3A00%3A00.000Z&limit=9"),
    ] {
        s.say(200, messages.clone());
        http.messages(C, history, Some(9)).await.unwrap();
        assert_eq!(s.last().0, format!("GET /v1/conversations/100/messages{line}"));
    }
    let page = value(&sample::log_page(C, [8], 8));
    route!(s, "GET /v1/conversations/100/log?after=7", 200, page, http.log(C, Seq::new(7), None));
    route!(s, "GET /v1/messages/118059912994951168", 200, value(&message), http.message(message_id));
    route!(s, "GET /v1/messages/118059912994951168/receipts", 200, receipts, http.receipts(message_id));
    every_route_of_groups(s, &http).await;
    every_route_of_messages(s, &http).await;
    let page = value(&sample::sync_page("t", &[]));
    route!(s, "GET /v1/sync?since=t&limit=3", 200, page, http.sync(Some("t"), Some(3)));
    for (path, text) in [("/healthz", http.healthz().boxed()), ("/readyz", http.readyz().boxed())] {
        s.say(200, json!("ok"));
        assert!(text.await.unwrap().contains("ok"));
        assert_eq!(s.last().0, format!("GET {path}"));
    }
    route!(s, "POST /v1/sessions/refresh", 200, value(&tokens(1)), http.refresh());
    route!(s, "DELETE /v1/sessions/current", 204, Value::Null, http.sign_out());
    assert_eq!(s.last().1, "Bearer access-1");
    assert!(http.tokens().is_none());
}

async fn every_route_of_groups(s: &Script, http: &Http) {
    let conversation = || value(&sample::conversation(C, 3, 3));
    let invite = json!({
        "id": "7", "conversation_id": "100", "token": "t", "created_by": "1", "created_at": now(), "uses": 0,
        "works": true
    });
    let preview = json!({
        "conversation_id": "100", "kind": "group", "name": "Birds", "member_count": 2, "member": false
    });
    let none = || Value::Null;
    route!(s, "POST /v1/conversations", 201, conversation(), http.group("Birds", &[PEER]));
    assert_eq!(s.last().2, json!({ "kind": "group", "name": "Birds", "member_ids": ["2"] }));
    let update = UpdateConversation { image: Some(None), ..UpdateConversation::default() };
    route!(s, "PATCH /v1/conversations/100", 200, conversation(), http.update_conversation(C, &update));
    assert_eq!(s.last().2, json!({ "image": null }));
    route!(s, "DELETE /v1/conversations/100?for=all", 204, none(), http.delete_conversation_for_all(C));
    let deleted = http.delete_conversation_for_me(C, Seq::new(7));
    route!(s, "DELETE /v1/conversations/100?for=me&up_to=7", 204, none(), deleted);
    let gone = json!({ "gone": [], "more": false, "truncated": false });
    route!(
        s,
        "GET /v1/conversations/gone?since=2027-01-15T08%3A00%3A00.000Z",
        200,
        gone,
        http.gone_conversations(now())
    );
    route!(s, "PUT /v1/conversations/pinned", 204, none(), http.order_pinned(&[C]));
    let asked = Members { role: Some(Role::Admin), query: Some("p"), after: Some("n"), limit: Some(5) };
    route!(
        s,
        "GET /v1/conversations/100/members?role=admin&query=p&after=n&limit=5",
        200,
        json!({ "members": [] }),
        http.members(C, asked)
    );
    let added = json!({ "results": [] });
    route!(s, "POST /v1/conversations/100/members", 200, added, http.add_members(C, &[PEER]));
    route!(s, "PATCH /v1/conversations/100/members/2", 204, none(), http.set_role(C, PEER, Role::Admin));
    route!(s, "DELETE /v1/conversations/100/members/2", 204, none(), http.remove_member(C, PEER));
    let bans = json!({ "bans": [] });
    route!(s, "GET /v1/conversations/100/bans?limit=5", 200, bans, http.bans(C, None, Some(5)));
    route!(s, "PUT /v1/conversations/100/bans/2", 204, none(), http.ban(C, PEER));
    route!(s, "DELETE /v1/conversations/100/bans/2", 204, none(), http.unban(C, PEER));
    route!(s, "PUT /v1/conversations/100/owner", 204, none(), http.transfer_ownership(C, PEER));
    route!(s, "POST /v1/conversations/100/join", 200, conversation(), http.join(C));
    route!(s, "POST /v1/conversations/100/leave", 204, none(), http.leave(C));
    route!(s, "POST /v1/conversations/100/leave?block=true", 204, none(), http.leave_for_good(C));
    let refused = json!({ "conversation_ids": ["100"] });
    route!(s, "GET /v1/refused-groups", 200, refused, http.refused_groups());
    route!(s, "DELETE /v1/refused-groups/100", 204, none(), http.allow_group(C));
    route!(s, "GET /v1/conversations/100/invites", 200, json!({ "invites": [] }), http.invites(C));
    let terms = CreateInvite { uses_max: Some(3), ..CreateInvite::default() };
    route!(s, "POST /v1/conversations/100/invites", 201, invite, http.create_invite(C, &terms));
    let invite = InviteId::new(7);
    route!(s, "DELETE /v1/conversations/100/invites/7", 204, none(), http.revoke_invite(C, invite));
    route!(s, "GET /v1/invites/t", 200, preview, http.invite_preview("t"));
    route!(s, "POST /v1/invites/t/join", 200, conversation(), http.join_by_invite("t"));
}

async fn every_route_of_messages(s: &Script, http: &Http) {
    let id = MessageId::new(8);
    let message = || value(&sample::message(C, 1, ME, &Draft::text("hi").client_id("x").into()));
    let none = || Value::Null;
    route!(s, "PATCH /v1/messages/8", 200, message(), http.edit_message(id, "better"));
    assert_eq!(s.last().2, json!({ "text": "better" }));
    route!(s, "DELETE /v1/messages/8?for=me", 204, none(), http.delete_message(id, DeleteFor::Me));
    route!(s, "GET /v1/messages/8/edits", 200, json!({ "versions": [] }), http.edits(id, None));
    route!(s, "PUT /v1/messages/8/reaction", 200, message(), http.react(id, "+"));
    route!(s, "DELETE /v1/messages/8/reaction", 200, message(), http.unreact(id));
    let reactions = json!({ "reactions": [] });
    route!(s, "GET /v1/messages/8/reactions?limit=3", 200, reactions, http.reactions(id, None, Some(3)));
    let thread = json!({ "root": message(), "replies": [] });
    route!(s, "GET /v1/messages/8/thread?after=n", 200, thread, http.thread(id, Some("n"), None));
    route!(s, "PUT /v1/messages/8/pin", 204, none(), http.pin_message(id));
    route!(s, "DELETE /v1/messages/8/pin", 204, none(), http.unpin_message(id));
    route!(s, "GET /v1/conversations/100/pins", 200, json!({ "pins": [] }), http.pins(C, None));
    route!(s, "PUT /v1/messages/8/star", 204, none(), http.star(id));
    route!(s, "DELETE /v1/messages/8/star", 204, none(), http.unstar(id));
    route!(
        s,
        "GET /v1/stars?after=n&limit=2",
        200,
        json!({ "messages": [] }),
        http.stars(Some("n"), Some(2))
    );
    let sent = Draft::text("later").client_id("x").into();
    let scheduled = json!({ "id": "9", "conversation_id": "100", "send_at": now(), "message": value(&sent) });
    let schedule = ScheduleMessage { conversation_id: C, send_at: now(), message: sent };
    let scheduling = json!({ "scheduled": scheduled });
    route!(s, "POST /v1/scheduled", 201, scheduling, http.schedule(&schedule));
    route!(s, "GET /v1/scheduled", 200, json!({ "scheduled": [] }), http.scheduled(None));
    let (scheduled_id, update) = (ScheduledId::new(9), UpdateScheduled::default());
    route!(s, "PATCH /v1/scheduled/9", 200, scheduled, http.update_scheduled(scheduled_id, &update));
    route!(s, "POST /v1/scheduled/9/send", 201, message(), http.send_scheduled(scheduled_id));
    route!(s, "DELETE /v1/scheduled/9", 204, none(), http.cancel_scheduled(scheduled_id));
}

#[tokio::test]
async fn errors_have_the_right_kind() {
    let script = Script::default();
    let http = script.http().await;
    script.say(404, value(&problem(ErrorCode::NotFound, 404, false)));
    let error = http.me().await.unwrap_err();
    assert!(matches!(&error, Error::Api(problem) if problem.code == ErrorCode::NotFound));
    script.say(502, json!("a proxy speaks"));
    assert!(matches!(http.me().await.unwrap_err(), Error::Status { status: 502, .. }));
    script.say(200, json!({ "what": "is this" }));
    let error = http.me().await.unwrap_err();
    assert!(matches!(&error, Error::Decode { operation, .. } if operation == "GET /v1/me"), "{error:?}");
    let nobody = Http::new("http://127.0.0.1:9").unwrap();
    assert!(matches!(nobody.me().await.unwrap_err(), Error::Transport { .. }));
}

/// A server whose access tokens expire and whose refresh tokens are valid for one use.
pub(crate) struct TokenServer {
    sockets: TcpListener,
    state: Arc<Mutex<TokenState>>,
    url: String,
}

#[derive(Default)]
struct TokenState {
    /// Only the access token with this number is valid.
    valid: u32,
    refreshes: Vec<String>,
    delay: Duration,
}

impl TokenServer {
    pub(crate) async fn start() -> Self {
        let state = Arc::new(Mutex::new(TokenState::default()));
        let app = Router::new().fallback(token_answer).with_state(state.clone());
        let inner = serve(app).await.replace("http://", "");
        // One address for both: upgrades go to the test, everything else to the routes.
        let (front, sockets) = (
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
            TcpListener::bind("127.0.0.1:0").await.unwrap(),
        );
        let url = format!("http://{}", front.local_addr().unwrap());
        let socket_address = sockets.local_addr().unwrap().to_string();
        tokio::spawn(async move {
            while let Ok((client, _)) = front.accept().await {
                tokio::spawn(forward(client, socket_address.clone(), inner.clone()));
            }
        });
        Self { sockets, state, url }
    }

    pub(crate) fn http(&self, tokens: Tokens) -> Http {
        let http = Http::with_config(&self.url, &HttpConfig::default()).unwrap();
        http.set_tokens(tokens);
        http
    }

    pub(crate) async fn accept(&self) -> Peer {
        let (stream, _) = self.sockets.accept().await.unwrap();
        Peer::greet(stream, sample::hello()).await
    }

    pub(crate) fn refreshes(&self) -> Vec<String> {
        self.state.lock().unwrap().refreshes.clone()
    }

    fn expire(&self) {
        self.state.lock().unwrap().valid += 1;
    }
}

async fn forward(mut client: TcpStream, sockets: String, routes: String) {
    let mut start = [0; 11];
    client.peek(&mut start).await.unwrap();
    let to = if &start == b"GET /v1/ws " { sockets } else { routes };
    let mut server = TcpStream::connect(to).await.unwrap();
    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
}

async fn token_answer(
    State(state): State<Arc<Mutex<TokenState>>>,
    headers: HeaderMap,
    request: Request,
) -> Response {
    let refused = |code| {
        let problem = problem(code, 401, false);
        (StatusCode::UNAUTHORIZED, Json(value(&problem))).into_response()
    };
    if request.uri().path() == "/v1/sessions/refresh" {
        let body = axum::body::to_bytes(request.into_body(), 1 << 20).await.unwrap();
        let body: Value = serde_json::from_slice(&body).unwrap();
        let used = body["refresh_token"].as_str().unwrap().to_owned();
        let (number, reused, delay) = {
            let mut state = state.lock().unwrap();
            let reused = state.refreshes.contains(&used);
            state.refreshes.push(used);
            (state.refreshes.len() as u32, reused, state.delay)
        };
        tokio::time::sleep(delay).await;
        if reused {
            return refused(ErrorCode::RefreshReused);
        }
        return Json(tokens(number)).into_response();
    }
    let valid = format!("Bearer access-{}", state.lock().unwrap().valid);
    if headers.get("authorization").is_some_and(|token| token.as_bytes() == valid.as_bytes()) {
        Json(me()).into_response()
    } else {
        refused(ErrorCode::TokenExpired)
    }
}

#[tokio::test]
async fn an_expired_token_is_refreshed_once_for_all_callers() {
    let server = TokenServer::start().await;
    server.state.lock().unwrap().delay = Duration::from_millis(50);
    let http = server.http(tokens(0));
    for round in 0..3 {
        server.expire();
        let calls = (0..20).map(|_| {
            let http = http.clone();
            tokio::spawn(async move { http.me().await })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap();
        }
        assert_eq!(server.refreshes().len(), round + 1);
    }
    assert_eq!(http.tokens().unwrap().refresh_token, "refresh-3");
}

#[tokio::test]
async fn a_caller_that_gives_up_does_not_lose_the_next_token() {
    let server = TokenServer::start().await;
    server.state.lock().unwrap().delay = Duration::from_millis(400);
    let http = server.http(tokens(0));
    server.expire();
    let given_up = tokio::time::timeout(Duration::from_millis(200), http.me()).await;
    assert!(given_up.is_err());
    http.me().await.unwrap();
    assert_eq!(server.refreshes(), ["refresh-0"]);
}

#[tokio::test]
async fn a_refresh_token_that_was_refused_is_not_tried_again() {
    let server = TokenServer::start().await;
    server.state.lock().unwrap().refreshes.push("refresh-0".into());
    let http = server.http(tokens(0));
    server.expire();
    for _ in 0..2 {
        let calls = (0..5).map(|_| {
            let http = http.clone();
            tokio::spawn(async move { http.me().await })
        });
        for call in calls.collect::<Vec<_>>() {
            call.await.unwrap().unwrap_err();
        }
    }
    assert_eq!(server.refreshes().len(), 2, "the one before, and this one");
    assert!(http.access_token().is_none());
}

#[tokio::test]
async fn a_token_of_the_application_is_not_refreshed() {
    let server = TokenServer::start().await;
    let http = server.http(tokens(0));
    http.set_access_token("from elsewhere");
    assert_eq!(http.me().await.unwrap_err().code(), Some(ErrorCode::TokenExpired));
    assert!(server.refreshes().is_empty());
}

#[tokio::test]
async fn the_device_proof_is_sent_with_the_next_sign_in() {
    let script = Script::default();
    let http = script.http().await;
    let sign_in = SignIn {
        handle: "me".into(),
        password: "secret words".into(),
        device_name: None,
        device_proof: None,
    };
    for expected in [json!(null), json!("proof")] {
        script.say(201, signed_in());
        http.sign_in(&sign_in).await.unwrap();
        assert_eq!(script.last().2["device_proof"], expected);
        script.say(204, Value::Null);
        http.sign_out().await.unwrap();
    }
}
