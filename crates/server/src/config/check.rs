//! Checks whether the server could start with a configuration, and whether the operator should think again about it.

use std::net::SocketAddr;
use std::ops::RangeInclusive;

use godwit_protocol::limits::REQUEST_BODY_BYTES_MAX;
use tracing_subscriber::EnvFilter;

use super::{AuthConfig, Config};
use crate::auth::{ApplicationTokens, Argon2Hasher};
use crate::data_folder::check_private;

const HOUR_MS: u64 = 3_600_000;
const MINUTE_MS: u64 = 60_000;
const YEAR_SECS: u64 = 366 * 24 * 60 * 60;
const COUNT_MAX: u64 = u32::MAX as u64;
const GIB_AS_MIB: u64 = 1_024;
const MIB: u64 = 1_024 * 1_024;
/// An opened conversation contains the cursors of this many members in one answer.
const FAN_OUT_MEMBERS_MAX: u64 = 4_000;
/// A limit for bodies must have room for at least one.
const BODY: u64 = REQUEST_BODY_BYTES_MAX as u64;

/// The problems, one line each, in the order of the sections.
pub fn problems(config: &Config) -> Vec<String> {
    let mut problems = out_of_range(config);
    problems.extend(config.store.cassandra.problems(&config.store_location()));
    problems.extend(config.cluster.problems(&config.store_location()));
    problems.extend(impossible(config));
    problems.extend(unusable_auth(&config.auth));
    problems
}

/// What a server can start with although it may be a mistake, one line each, in the order of the sections.
pub fn warnings(config: &Config) -> Vec<String> {
    let mut warnings = Vec::new();
    let listen = config.server.listen;
    if !SocketAddr::from(listen).ip().to_canonical().is_loopback()
        && config.server.trust_forwarded_for.is_none()
    {
        warnings.push(format!(
            "server.trust_forwarded_for is not set, and other machines can reach server.listen ({listen}): set it to true \
             behind a proxy that sets X-Forwarded-For, because all clients share the limits of one address otherwise, or to \
             false without a proxy"
        ));
    }
    warnings.extend(config.auth.application.warnings());
    warnings
}

fn out_of_range(config: &Config) -> Vec<String> {
    let Config { server, store, socket, admission, .. } = config;
    let embedded = &store.embedded;
    let tokens = &config.auth.tokens;
    let cassandra = &store.cassandra;
    let application = &config.auth.application;
    let bounds: [(&str, u64, RangeInclusive<u64>); 44] = [
        ("server.max_connections", server.max_connections as u64, 1..=COUNT_MAX),
        ("server.connections_per_address_max", server.connections_per_address_max as u64, 1..=COUNT_MAX),
        ("server.connections_per_network_max", server.connections_per_network_max as u64, 1..=COUNT_MAX),
        ("server.anonymous_max", server.anonymous_max as u64, 1..=COUNT_MAX),
        ("server.anonymous_per_address_max", server.anonymous_per_address_max as u64, 1..=COUNT_MAX),
        ("server.anonymous_per_network_max", server.anonymous_per_network_max as u64, 1..=COUNT_MAX),
        ("server.anonymous_body_bytes_max", server.anonymous_body_bytes_max as u64, BODY..=GIB_AS_MIB * MIB),
        (
            "server.anonymous_body_bytes_per_network_max",
            server.anonymous_body_bytes_per_network_max as u64,
            BODY..=GIB_AS_MIB * MIB,
        ),
        ("server.anonymous_idle_timeout_ms", server.anonymous_idle_timeout_ms, 100..=HOUR_MS),
        ("server.header_timeout_ms", server.header_timeout_ms, 100..=HOUR_MS),
        ("server.idle_timeout_ms", server.idle_timeout_ms, 100..=HOUR_MS),
        ("server.write_timeout_ms", server.write_timeout_ms, 100..=HOUR_MS),
        ("server.answers_bytes_max", server.answers_bytes_max as u64, MIB..=1_024 * GIB_AS_MIB * MIB),
        ("server.stop_timeout_ms", server.stop_timeout_ms, 0..=HOUR_MS),
        ("store.embedded.cache_mib", embedded.cache_mib, 1..=1_024 * GIB_AS_MIB),
        ("store.embedded.memtable_mib", embedded.memtable_mib, 1..=4 * GIB_AS_MIB),
        ("store.embedded.journal_mib", embedded.journal_mib, 16..=64 * GIB_AS_MIB),
        ("store.embedded.free_disk_mib_min", embedded.free_disk_mib_min, 0..=COUNT_MAX),
        ("store.cassandra.connect_timeout_ms", cassandra.connect_timeout_ms, 100..=MINUTE_MS),
        ("store.cassandra.silence_max_ms", cassandra.silence_max_ms, 100..=MINUTE_MS),
        ("store.cassandra.request_timeout_ms", cassandra.request_timeout_ms, 100..=20_000),
        ("store.cassandra.speculative_after_ms", cassandra.speculative_after_ms, 1..=MINUTE_MS),
        ("store.cassandra.requests_at_once_max", cassandra.requests_at_once_max as u64, 1..=COUNT_MAX),
        ("store.cassandra.clock_difference_max_ms", cassandra.clock_difference_max_ms, 1_000..=HOUR_MS),
        ("auth.tokens.access_minutes", u64::from(tokens.access_minutes), 1..=24 * 60),
        ("auth.tokens.refresh_days", u64::from(tokens.refresh_days), 1..=3_650),
        ("auth.application.lifetime_max_secs", u64::from(application.lifetime_max_secs), 60..=YEAR_SECS),
        ("auth.application.leeway_seconds", u64::from(application.leeway_seconds), 0..=HOUR_MS / 1_000),
        (
            "messages.fan_out_members_max",
            u64::from(config.messages.fan_out_members_max),
            1..=FAN_OUT_MEMBERS_MAX,
        ),
        ("admission.sign_ins_at_once_max", admission.sign_ins_at_once_max as u64, 1..=COUNT_MAX),
        ("admission.sign_ins_waiting_max", admission.sign_ins_waiting_max as u64, 1..=COUNT_MAX),
        (
            "admission.sign_ins_waiting_per_network_max",
            admission.sign_ins_waiting_per_network_max as u64,
            1..=COUNT_MAX,
        ),
        ("admission.syncs_at_once_max", admission.syncs_at_once_max as u64, 1..=COUNT_MAX),
        ("admission.syncs_per_user_max", admission.syncs_per_user_max as u64, 1..=COUNT_MAX),
        ("admission.passwords_waiting_max", admission.passwords_waiting_max as u64, 1..=COUNT_MAX),
        (
            "admission.passwords_waiting_per_network_max",
            admission.passwords_waiting_per_network_max as u64,
            1..=COUNT_MAX,
        ),
        ("admission.wait_ms", admission.wait_ms, 0..=MINUTE_MS),
        ("socket.heartbeat_ms", u64::from(socket.heartbeat_ms), 1_000..=HOUR_MS),
        ("socket.sign_in_within_ms", u64::from(socket.sign_in_within_ms), 100..=HOUR_MS),
        ("socket.queue_frames_max", socket.queue_frames_max as u64, 512..=1_000_000),
        ("socket.queue_bytes_max", socket.queue_bytes_max as u64, MIB..=GIB_AS_MIB * MIB),
        ("socket.answers_bytes_max", socket.answers_bytes_max as u64, MIB..=1_024 * GIB_AS_MIB * MIB),
        ("socket.per_user_max", socket.per_user_max as u64, 1..=COUNT_MAX),
        ("socket.per_device_max", socket.per_device_max as u64, 1..=COUNT_MAX),
    ];
    bounds
        .into_iter()
        .filter(|(_, value, range)| !range.contains(value))
        .map(|(key, value, range)| {
            format!("{key} is {value}, and must be from {} to {}", range.start(), range.end())
        })
        .collect()
}

fn unusable_auth(auth: &AuthConfig) -> Vec<String> {
    let mut problems = Vec::new();
    if let Err(error) = Argon2Hasher::new(&auth.passwords) {
        problems.push(format!("auth.passwords: {error}"));
    }
    match ApplicationTokens::load(&auth.application) {
        Ok(None) if !auth.passwords_enabled => problems.push(
            "auth.passwords_enabled is false and auth.application has no key, so nobody can sign in; set one of them"
                .into(),
        ),
        Ok(None) => {}
        Ok(Some(_)) => problems.extend(auth.application.undecided()),
        Err(error) => problems.push(format!("auth.application: {error}")),
    }
    problems
}

fn impossible(config: &Config) -> Vec<String> {
    let mut problems = Vec::new();
    let folder = config.data_folder();
    if folder.exists() && !folder.is_dir() {
        problems.push(format!("server.data: {} is not a folder", folder.display()));
    }
    if let Err(error) = check_private(folder) {
        problems.push(format!("server.data: {error}"));
    }
    if let Err(error) = EnvFilter::try_new(&config.log.level) {
        problems.push(format!("log.level: `{}` is not a level: {error}", config.log.level));
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_have_no_problems() {
        assert_eq!(problems(&Config::default()), Vec::<String>::new());
    }

    #[test]
    fn issuer_and_audience_of_application_tokens_must_be_decided() {
        let mut config = Config::default();
        config.auth.application.secret = Some(crate::auth::Secret::new("x".repeat(32)));
        let undecided = problems(&config);
        let [issuer, audience] = undecided.as_slice() else { panic!("{undecided:?}") };
        assert!(
            issuer.contains("auth.application.issuer") && issuer.contains("accept_any_issuer"),
            "{issuer}"
        );
        assert!(audience.contains("`aud`") && audience.contains("accept_any_audience"), "{audience}");
        config.auth.application.issuer = Some("shop".into());
        config.auth.application.accept_any_audience = true;
        assert_eq!(problems(&config), Vec::<String>::new());
        config.auth.application.audience = Some("chat".into());
        assert!(problems(&config)[0].contains("choose one"), "{:?}", problems(&config));
    }

    #[test]
    fn there_are_warnings_about_what_is_valid_but_may_be_a_mistake() {
        let mut config = Config::default();
        assert_eq!(warnings(&config), Vec::<String>::new());
        for (listen, is_public) in [
            ("127.0.0.1:80", false),
            ("[::1]:80", false),
            ("[::ffff:127.0.0.1]:80", false),
            ("0.0.0.0:80", true),
            ("[::]:80", true),
            ("192.0.2.1:80", true),
        ] {
            config.server.listen = listen.parse().unwrap();
            config.server.trust_forwarded_for = None;
            let undecided = warnings(&config);
            let says = |text: &str| undecided.iter().any(|warning| warning.contains(text));
            assert_eq!(
                (undecided.len(), says("server.trust_forwarded_for")),
                (usize::from(is_public), is_public)
            );
            config.server.trust_forwarded_for = Some(false);
            assert_eq!(warnings(&config), Vec::<String>::new(), "{listen}: it is decided");
        }
        // Without a key no tokens of an application are accepted.
        config.auth.application.accept_any_issuer = true;
        config.auth.application.accept_any_audience = true;
        assert_eq!(warnings(&config), Vec::<String>::new());
        config.auth.application.secret = Some(crate::auth::Secret::new("x".repeat(32)));
        let accepting = warnings(&config);
        let [issuer, audience] = accepting.as_slice() else { panic!("{accepting:?}") };
        assert!(issuer.contains("accept_any_issuer") && issuer.contains("`iss`"), "{issuer}");
        assert!(
            audience.contains("accept_any_audience") && audience.contains("other services"),
            "{audience}"
        );
        assert!(accepting.iter().all(|warning| !warning.contains('\n')), "{accepting:?}");
    }

    #[test]
    fn every_problem_is_reported_once_on_one_line() {
        let mut config = Config::default();
        config.server.max_connections = 0;
        config.store.embedded.journal_mib = 1;
        config.store.cassandra.request_timeout_ms = 1;
        config.store.cassandra.username = Some("chat".into());
        config.messages.fan_out_members_max = 0;
        config.cluster.redis_url = Some("redis://localhost".parse().unwrap());
        config.log.level = "loud=loud=loud".into();
        let problems = problems(&config);
        let keys: Vec<_> = problems.iter().map(|problem| problem.split([' ', ':']).next().unwrap()).collect();
        assert_eq!(
            keys,
            [
                "server.max_connections",
                "store.embedded.journal_mib",
                "store.cassandra.request_timeout_ms",
                "messages.fan_out_members_max",
                "store.cassandra",
                "cluster.redis_url",
                "log.level"
            ]
        );
        assert!(problems.iter().all(|problem| !problem.contains('\n')), "{problems:?}");
    }
}
