//! Tests that the domain alone decides refusals and limits of accounts: a store has no rules.

use crate::architecture::{root, sources};

/// Every refusal, and every outcome without a change.
const REFUSALS: &[&str] = &[
    "CreateUser::HandleTaken",
    "CreateUser::SubjectTaken",
    "UpdateUser::HandleTaken",
    "UpdateUser::NotFound",
    "CreateDevice::TooMany",
    "CreateDevice::KeyTaken",
    "Rotation::Reused",
    "BlockOutcome::WasBlocked",
    "BlockOutcome::Full",
    "Listed::Unchanged",
    "Listed::Full",
    "ScheduleOutcome::Repeated",
    "ScheduleOutcome::Full",
    "ReplaceScheduled::Changed",
    "ReplaceScheduled::NotFound",
];

/// Limits that only the rules may compare with.
const LIMITS: &[&str] = &[
    "ACCOUNT_LOG_ENTRIES_MAX",
    "FORMER_HANDLES_MAX",
    "FORMER_HANDLE_DAYS",
    "GROUPS_REFUSED_MAX",
    "devices_max",
    "blocks_max",
    "stars_max",
    "scheduled_max",
    "revoked_at.is_",
    "revoked_at().is_",
    "stage.is_listed",
    "kept_until <",
    "< former.kept_until",
    "disabled_at.is_",
];

/// The sources of all stores.
const STORES: &[&str] =
    &["crates/store-embedded/src", "crates/store-cassandra/src", "crates/testkit/src/model"];

/// Names that a store may use nevertheless, with the reasons.
const EXCEPTIONS: &[(&str, &str)] = &[
    // Every message causes this check, which reads one field without copying the user.
    ("disabled_at.is_", "crates/store-embedded/src/ports/account.rs"),
];

#[test]
fn each_refusal_is_raised_in_one_place() {
    let product = sources(&root().join("crates"));
    for refusal in REFUSALS {
        let mut raised = Vec::new();
        for file in product.iter().filter(|file| !is_test(file)) {
            let source = std::fs::read_to_string(file).expect("a source can be read");
            let times = raises(&without_tests(&source), refusal);
            raised.extend(std::iter::repeat_n(file.display().to_string(), times));
        }
        assert_eq!(raised.len(), 1, "{refusal} is raised in {raised:#?}");
        assert!(raised[0].contains("domain/src/account/"), "{refusal} is raised in {}", raised[0]);
    }
}

#[test]
fn no_store_names_a_refusal_or_a_limit() {
    for file in STORES.iter().flat_map(|folder| sources(&root().join(folder))).filter(|file| !is_test(file)) {
        let source = std::fs::read_to_string(&file).expect("a source can be read");
        let source = without_tests(&source);
        for name in REFUSALS.iter().chain(LIMITS) {
            let is_excepted =
                EXCEPTIONS.iter().any(|(excepted, home)| excepted == name && file.ends_with(home));
            assert!(is_excepted || !source.contains(name), "{} names {name}", file.display());
        }
    }
}

#[test]
fn a_pattern_raises_nothing() {
    for (source, raised) in [
        ("Listed::Full => {}", 0),
        ("Listed::Added(_) | Listed::Full => {}", 0),
        ("Listed::Full | Listed::Unchanged => {}", 0),
        ("if let CreateDevice::KeyTaken(device) = created {}", 0),
        ("CreateDevice::KeyTaken(Device { id, .. }) if id == 1 => {}", 0),
        ("if UpdateUser::HandleTaken == updated {}", 0),
        ("if added == Listed::Full {}", 0),
        ("return Ok(Listed::Full);", 1),
        ("_ => Listed::Full,", 1),
        ("CreateDevice::KeyTaken(device.clone())\n", 1),
        ("UpdateUser::HandleTaken.into(),", 1),
        ("Listed::FullOfThem", 0),
    ] {
        let times: usize = REFUSALS.iter().map(|refusal| raises(source, refusal)).sum();
        assert_eq!(times, raised, "{source}");
    }
}

/// Counts the places where a source constructs the value, not those where a pattern matches it.
fn raises(source: &str, name: &str) -> usize {
    let is_made = |(at, _): &(usize, &str)| is_made(&source[..*at], &source[at + name.len()..]);
    source.match_indices(name).filter(is_made).count()
}

/// Decides by the text before and after the name.
fn is_made(before: &str, rest: &str) -> bool {
    let is_compared = ["==", "!="].iter().any(|mark| before.trim_end().ends_with(mark));
    if is_compared || rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
        return false;
    }
    let after = after_group(rest).trim_start();
    !["=>", "|", "=", "if "].iter().any(|mark| after.starts_with(mark))
}

/// The text after the parentheses or braces of a value or pattern.
fn after_group(rest: &str) -> &str {
    if !rest.starts_with('(') {
        return rest;
    }
    let mut depth = 0;
    for (at, next) in rest.char_indices() {
        depth += i32::from(next == '(') - i32::from(next == ')');
        if depth == 0 {
            return &rest[at + 1..];
        }
    }
    rest
}

fn is_test(file: &std::path::Path) -> bool {
    let is_test_folder = |part: &str| {
        ["tests", "on_cassandra", "conformance", "replay", "scene", "batch"].contains(&part)
            || part == "tests.rs"
            || part == "on_cassandra.rs"
    };
    file.iter().filter_map(|part| part.to_str()).any(is_test_folder)
}

fn without_tests(source: &str) -> String {
    source.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}
