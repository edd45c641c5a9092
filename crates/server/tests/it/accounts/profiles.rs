use std::collections::HashSet;

use godwit_client::Http;
use godwit_client::protocol::accounts::{MayBeAddedBy, UpdateMe};
use godwit_client::protocol::{ErrorCode, UserId};

use super::{assert_refused, registration};
use crate::people::{Person, open_socket, unique};
use crate::raw_http::RawHttp;
use crate::unlimited::unlimited;

const AT_ONCE: usize = 16;

async fn found(http: &Http, query: &str) -> Vec<UserId> {
    http.search_users(query, None, None).await.unwrap().users.iter().map(|user| user.id).collect()
}

#[tokio::test]
async fn a_profile_can_be_changed_and_what_is_absent_stays() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let countess = unique("countess");
    let full = UpdateMe {
        handle: Some(countess.replace("countess", "Countess")),
        display_name: Some("Ada Lovelace".to_owned()),
        avatar: Some(Some("https://a.example/ada.png".to_owned())),
        phone: Some(Some("+34600111222".to_owned())),
        presence_visible: Some(false),
        read_receipts: Some(false),
        may_be_added_by: Some(MayBeAddedBy::Contacts),
    };
    let changed = ada.http.update_me(&full).await.unwrap();
    assert_eq!((changed.handle.as_str(), changed.display_name.as_str()), (countess.as_str(), "Ada Lovelace"));
    assert_eq!((changed.phone.as_deref(), changed.presence_visible), (Some("+34600111222"), false));
    assert_eq!((changed.read_receipts, changed.may_be_added_by), (false, MayBeAddedBy::Contacts));
    assert_eq!(ada.http.update_me(&UpdateMe::default()).await.unwrap(), changed);
    let removed = UpdateMe { avatar: Some(None), phone: Some(None), ..UpdateMe::default() };
    let changed = ada.http.update_me(&removed).await.unwrap();
    assert_eq!((changed.avatar, changed.phone, changed.handle.as_str()), (None, None, countess.as_str()));
    // The old handle is reserved for her.
    let taken = Http::new(&server.url()).unwrap().register(&registration(&ada.handle)).await.unwrap_err();
    assert_eq!(taken.code(), Some(ErrorCode::HandleTaken));
    let back = UpdateMe { handle: Some(ada.handle.clone()), ..UpdateMe::default() };
    assert_eq!(ada.http.update_me(&back).await.unwrap().handle, ada.handle);
}

#[tokio::test]
async fn concurrent_registrations_of_a_handle_create_one_user() {
    let server = unlimited().await;
    let (wanted, coveted, name) = (unique("wanted"), unique("coveted"), unique("user"));
    let registering: Vec<_> = (0..AT_ONCE)
        .map(|_| {
            let (url, wanted) = (server.url(), wanted.clone());
            tokio::spawn(async move { Http::new(&url).unwrap().register(&registration(&wanted)).await })
        })
        .collect();
    let mut winners = Vec::new();
    for attempt in registering {
        match attempt.await.unwrap() {
            Ok(signed_in) => winners.push(signed_in.user.id),
            Err(error) => assert_eq!(error.code(), Some(ErrorCode::HandleTaken), "{error}"),
        }
    }
    assert_eq!(winners.len(), 1);

    let mut people = Vec::new();
    for number in 0..AT_ONCE {
        people.push(Person::register_as(&server.url(), format!("{name}{number}")).await);
    }
    let renaming: Vec<_> = people
        .iter()
        .map(|person| {
            let http = person.http.clone();
            let update = UpdateMe { handle: Some(coveted.clone()), ..UpdateMe::default() };
            tokio::spawn(async move { http.update_me(&update).await })
        })
        .collect();
    let mut winners = Vec::new();
    for attempt in renaming {
        match attempt.await.unwrap() {
            Ok(me) => winners.push(me.id),
            Err(error) => assert_eq!(error.code(), Some(ErrorCode::HandleTaken), "{error}"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(found(&people[0].http, &coveted).await, winners);
    // The others have kept theirs. The search also finds the winner, by the display name.
    let handles: HashSet<String> = found_handles(&people[0].http, &name).await;
    assert_eq!(handles.len(), AT_ONCE);
    assert_eq!(handles.iter().filter(|handle| handle.starts_with(&name)).count(), AT_ONCE - 1, "{handles:?}");
}

async fn found_handles(http: &Http, query: &str) -> HashSet<String> {
    let users = http.search_users(query, None, None).await.unwrap().users;
    users.into_iter().map(|user| user.handle).collect()
}

#[tokio::test]
async fn people_are_found_by_the_beginnings_of_their_names() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    // Words that are in no other name; the searches use their prefixes.
    let (handle, nandu, lovelace, byron) =
        (&ada.handle, unique("ñandú"), unique("lovelace"), unique("byron"));
    let named = UpdateMe {
        display_name: Some(format!("Ñ{} {lovelace} de {byron}", &nandu[2..])),
        ..UpdateMe::default()
    };
    ada.http.update_me(&named).await.unwrap();
    let part = |word: &str| word[..word.len() - 2].to_owned();
    for query in [
        handle.clone(),
        part(handle),
        handle.to_uppercase(),
        format!("@{handle}"),
        format!("  {handle}  "),
        part(&lovelace),
        lovelace.to_uppercase(),
        part(&byron),
        nandu.clone(),
        format!("{nandu} {}", part(&lovelace)),
    ] {
        assert_eq!(found(&bob.http, &query).await, [ada.id], "{query}");
    }
    for query in [
        format!("{handle}m"),
        handle[1..].to_owned(),
        lovelace[1..].to_owned(),
        nandu.replace("ñandú", "nandu"),
        format!("{handle} {lovelace}"),
        unique("zzz"),
    ] {
        assert_eq!(found(&bob.http, &query).await, [], "{query}");
    }
    let augusta = unique("augusta");
    ada.http
        .update_me(&UpdateMe { display_name: Some(augusta.clone()), ..UpdateMe::default() })
        .await
        .unwrap();
    assert_eq!(found(&bob.http, &lovelace).await, [], "the old name is forgotten");
    assert_eq!(found(&bob.http, &part(&augusta)).await, [ada.id]);
}

#[tokio::test]
async fn several_people_are_looked_up_at_once() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let nobody: UserId = "9007199254740993".parse().unwrap();
    let users = ada.http.users(&[bob.id, nobody, ada.id, bob.id]).await.unwrap().users;
    let handles: Vec<_> = users.iter().map(|user| user.handle.as_str()).collect();
    assert_eq!(handles, [ada.handle.as_str(), bob.handle.as_str()]);
}

#[tokio::test]
async fn pages_of_a_search_have_every_user_once() {
    let server = unlimited().await;
    let (mut everybody, same) = (Vec::new(), unique("same"));
    for number in 0..7 {
        everybody.push(Person::register_as(&server.url(), format!("{same}{number}")).await.id);
    }
    let http = Person::register(&server.url(), "searcher").await.http;
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = http.search_users(&same, after.as_deref(), Some(3)).await.unwrap();
        assert!(page.users.len() <= 3);
        seen.extend(page.users.iter().map(|user| user.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, everybody);
}

#[tokio::test]
async fn a_phone_number_is_visible_only_to_its_owner() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let bob = Person::register(&server.url(), "bob").await;
    let direct = bob.open_direct(&ada).await;
    let (socket, mut events) = open_socket(&bob.http).await;
    let phone = UpdateMe { phone: Some(Some("+34600111222".to_owned())), ..UpdateMe::default() };
    ada.http.update_me(&phone).await.unwrap();
    ada.http.send_message(direct, godwit_client::Draft::text("hello")).await.unwrap();
    let raw = RawHttp::new(&server.url());
    let paths = [
        format!("/v1/users/{}", ada.id),
        format!("/v1/users?query={}", ada.handle),
        format!("/v1/conversations/{direct}"),
        format!("/v1/conversations/{direct}/log?after=0"),
        "/v1/conversations".to_owned(),
        "/v1/sync".to_owned(),
    ];
    bob.http.block(ada.id).await.unwrap();
    for path in paths.iter().map(String::as_str).chain(["/v1/blocks"]) {
        let seen = raw.get(&bob.http, path).await.to_string();
        assert!(!seen.contains("600111222") && !seen.contains("phone"), "{path}: {seen}");
    }
    for query in ["+346", "346", "%2B34600111222"] {
        assert_eq!(found(&bob.http, query).await, [], "{query}");
    }
    socket.close().await;
    while let Some(event) = events.next().await {
        assert!(!format!("{event:?}").contains("600111222"), "{event:?}");
    }
    assert!(raw.get(&ada.http, "/v1/me").await.to_string().contains("600111222"));
}

#[tokio::test]
async fn blocks_are_listed_in_pages_and_can_be_removed() {
    let server = unlimited().await;
    let ada = Person::register(&server.url(), "ada").await;
    let mut others = Vec::new();
    for number in 0..5 {
        others.push(Person::register(&server.url(), &format!("user{number}")).await.id);
    }
    for other in others.iter().rev().chain(&others) {
        ada.http.block(*other).await.unwrap();
    }
    let (mut seen, mut after) = (Vec::new(), None);
    loop {
        let page = ada.http.blocks(after.as_deref(), Some(2)).await.unwrap();
        seen.extend(page.users.iter().map(|user| user.id));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(seen, others);
    assert!(ada.http.user(others[0]).await.unwrap().blocked);
    for _ in 0..2 {
        ada.http.unblock(others[0]).await.unwrap();
    }
    assert!(!ada.http.user(others[0]).await.unwrap().blocked);
    assert_eq!(ada.http.blocks(None, None).await.unwrap().users.len(), 4);
    assert_refused(ada.http.block(UserId::new(1 << 60)).await, ErrorCode::NotFound);
}
