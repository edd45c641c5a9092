//! Tests that each refusal and each limit of accounts has one place, in the domain: a store has no rules. The refusals and
//! limits are read from the sources that define them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::architecture::{root, sources};

/// The outcomes of commands that were carried out. All others are refusals, or find nothing to change.
const DONE: &[&str] = &[
    "CreateUser::Created",
    "UpdateUser::Updated",
    "CreateDevice::Created",
    "Rotation::Rotated",
    "BlockOutcome::Blocked",
    "Listed::Added",
    "ScheduleOutcome::Scheduled",
    "ReplaceScheduled::Replaced",
    "ChangeSettings::Changed",
];

/// Further files that raise a refusal or name a limit, with the reasons.
const FURTHER: &[(&str, &str, &str)] = &[
    (
        "Rotation::NotFound",
        "domain/src/ports/accounts.rs",
        "without an owner there is no account to decide on",
    ),
    (
        "ACCOUNT_LOG_ENTRIES_MAX",
        "domain/src/inbox/listing.rs",
        "where to continue in a log with dropped entries",
    ),
    ("HANDLE_CHARS_MAX", "store-embedded/src/account/people.rs", "the length of indexed prefixes"),
    ("PASSWORD_CHARS_MAX", "server/src/cli/password.rs", "what is read from a terminal at most"),
    ("members_per_day_max", "server/src/config/mod.rs", "the operator sets it"),
    ("strangers_per_day_max", "server/src/config/mod.rs", "the operator sets it"),
    ("groups_per_day_max", "server/src/config/mod.rs", "the operator sets it"),
    (
        "disabled_at.is_",
        "store-embedded/src/ports/account.rs",
        "every message reads this field, without the user",
    ),
    ("Refusal::Forbidden", "decision/messages.rs", "depends on the kind of the message"),
    ("Refusal::Forbidden", "decision/members.rs", "depends on the role of the other member"),
    ("Refusal::Disabled", "decision/members.rs", "about the user who joins, and not the actor"),
    ("Refusal::Disabled", "domain/src/personal.rs", "converted from the check of `own_writes`"),
    ("Refusal::ReplyNotFound", "messages/writing.rs", "looked up before the decision"),
    ("Refusal::InviteInvalid", "groups/invites.rs", "looked up before the decision"),
    (
        "Refusal::Busy",
        "actions/forward.rs",
        "the queue to another node is full, and not the one of this node",
    ),
];

/// Refusals of actions that have no place of their own, with the reasons.
const EVERYWHERE: &[(&str, &str)] = &[
    ("Refusal::NotFound", "everything that a user may not know of looks like what does not exist"),
    ("Refusal::Interrupted", "a failure, and not a rule"),
    ("Refusal::Store", "a failure, and not a rule"),
    ("Refusal::Invalid", "converted from the error about the field"),
    ("Refusal::TooOften", "converted from the outcome of the account"),
];

/// Limits of the operator, and those that are not in the sections of accounts.
const MORE_LIMITS: &[&str] =
    &["ACCOUNT_LOG_ENTRIES_MAX", "members_per_day_max", "strangers_per_day_max", "groups_per_day_max"];

/// Parameters and comparisons that only the rules may have.
const RULES: &[&str] = &[
    "refused_for",
    "devices_max",
    "blocks_max",
    "stars_max",
    "hidden_max",
    "scheduled_max",
    "revoked_at.is_",
    "revoked_at().is_",
    "stage.is_listed",
    "kept_until <",
    "< former.kept_until",
    "disabled_at.is_",
    "AccountNote {",
];

/// The sources of all stores.
const STORES: &[&str] = &["store-embedded/src", "store-cassandra/src", "testkit/src/model"];

#[test]
fn each_refusal_of_an_account_is_raised_in_one_place() {
    let (product, outcomes) = (product(), variants("crates/domain/src/account/outcome.rs"));
    assert!(DONE.iter().all(|done| outcomes.contains(*done)), "{outcomes:?}");
    for refusal in outcomes.iter().filter(|outcome| !DONE.contains(&outcome.as_str())) {
        let file = the_file(&product, refusal, |source| raises(source, refusal));
        assert!(is_in(file, "domain/src/account/"), "{refusal} is raised in {}", file.display());
    }
}

#[test]
fn each_refusal_of_an_action_is_raised_in_one_file() {
    let product = product();
    for refusal in variants("crates/domain/src/actions/refusal.rs") {
        if EVERYWHERE.iter().all(|(name, _)| *name != refusal) {
            the_file(&product, &refusal, |source| raises(source, &refusal).min(1));
        }
    }
}

#[test]
fn each_limit_of_accounts_is_named_in_one_file() {
    let product = product();
    for limit in limits() {
        the_file(&product, &limit, |source| usize::from(source.contains(&limit)));
    }
}

#[test]
fn no_store_names_a_refusal_or_a_limit() {
    let outcomes = variants("crates/domain/src/account/outcome.rs");
    let refusals = outcomes.into_iter().filter(|outcome| !DONE.contains(&outcome.as_str()));
    let rules: Vec<String> = refusals.chain(limits()).chain(RULES.iter().map(ToString::to_string)).collect();
    for (file, source) in product().iter().filter(|(file, _)| STORES.iter().any(|store| is_in(file, store))) {
        for name in rules.iter().filter(|name| !is_further(name, file)) {
            assert!(!source.contains(&**name), "{} names {name}", file.display());
        }
    }
}

#[test]
fn a_pattern_raises_nothing() {
    for (source, name, raised) in [
        ("Listed::Full => {}", "Listed::Full", 0),
        ("Listed::Added(_) | Listed::Full => {}", "Listed::Full", 0),
        ("Listed::Full | Listed::Unchanged => {}", "Listed::Full", 0),
        ("if let CreateDevice::KeyTaken(device) = created {}", "CreateDevice::KeyTaken", 0),
        ("CreateDevice::KeyTaken(Device { id, .. }) if id == 1 => {}", "CreateDevice::KeyTaken", 0),
        ("if UpdateUser::HandleTaken == updated {}", "UpdateUser::HandleTaken", 0),
        ("if added == Listed::Full {}", "Listed::Full", 0),
        ("Some(UpdateUser::TooOften { limit, until }) => {}", "UpdateUser::TooOften", 0),
        ("return Ok(UpdateUser::TooOften { limit, until }.into());", "UpdateUser::TooOften", 1),
        ("return Ok(Listed::Full);", "Listed::Full", 1),
        ("_ => Listed::Full,", "Listed::Full", 1),
        ("CreateDevice::KeyTaken(device.clone())\n", "CreateDevice::KeyTaken", 1),
        ("UpdateUser::HandleTaken.into(),", "UpdateUser::HandleTaken", 1),
        ("Listed::FullOfThem", "Listed::Full", 0),
    ] {
        assert_eq!(raises(source, name), raised, "{source}");
    }
}

/// The limits of accounts: the constants of two sections of the limits of the API, and [`MORE_LIMITS`].
fn limits() -> Vec<String> {
    let source = read(&root().join("crates/protocol/src/limits.rs"));
    let section = |title: &str| {
        let (_, section) = source.split_once(&format!("\n// {title}\n")).expect("the section exists");
        section.split("\n// ").next().unwrap_or_default().to_owned()
    };
    let sections = section("Data of one user") + &section("Accounts");
    let constants = sections.lines().filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let limits: Vec<String> = constants.chain(MORE_LIMITS.iter().copied()).map(str::to_owned).collect();
    assert!(limits.iter().any(|limit| limit == "PINNED_CONVERSATIONS_MAX"), "{limits:?}");
    limits
}

/// The variants of all enums of a file, as `Enum::Variant`.
fn variants(path: &str) -> BTreeSet<String> {
    let source = read(&root().join(path));
    let (mut of, mut variants) = ("", BTreeSet::new());
    for line in source.lines() {
        if let Some(name) = line.strip_prefix("pub enum ") {
            of = name.trim_end_matches(" {");
        } else if line == "}" {
            of = "";
        } else if let Some(line) = line.strip_prefix("    ").filter(|_| !of.is_empty())
            && line.starts_with(|first: char| first.is_ascii_uppercase())
        {
            let name = line.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
            variants.insert(format!("{of}::{name}"));
        }
    }
    assert!(!variants.is_empty(), "{path} has no enum");
    variants
}

/// The sources of the product without comments and tests.
fn product() -> Vec<(PathBuf, String)> {
    let folders = ["crates", "tools"].map(|folder| sources(&root().join(folder)));
    let files =
        folders.into_iter().flatten().filter(|file| !is_test(file) && !is_in(file, "crates/protocol"));
    files.map(|file| (file.clone(), without_comments(&without_tests(&read(&file))))).collect()
}

/// The only file with something to count, and there it counts one. Files that may repeat the name are not looked at.
#[track_caller]
fn the_file<'a>(product: &'a [(PathBuf, String)], name: &str, count: impl Fn(&str) -> usize) -> &'a Path {
    let places = product.iter().filter(|(file, _)| !is_further(name, file));
    let places = places.flat_map(|(file, source)| std::iter::repeat_n(&**file, count(source)));
    let places: Vec<&Path> = places.collect();
    assert!(places.len() == 1 && is_in(places[0], "crates/domain/src"), "{name} is in {places:#?}");
    places[0]
}

fn is_further(name: &str, file: &Path) -> bool {
    FURTHER.iter().any(|(further, home, _)| *further == name && is_in(file, home))
}

fn is_in(file: &Path, place: &str) -> bool {
    file.to_str().is_some_and(|file| file.contains(place))
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
    // A pattern may be part of another one.
    let after = after_group(rest.trim_start()).trim_start().trim_start_matches(')').trim_start();
    !["=>", "|", "=", "if "].iter().any(|mark| after.starts_with(mark))
}

/// The text after the parentheses or braces of a value or pattern.
fn after_group(rest: &str) -> &str {
    if !rest.starts_with(['(', '{']) {
        return rest;
    }
    let mut depth = 0;
    for (at, next) in rest.char_indices() {
        depth += i32::from(['(', '{'].contains(&next)) - i32::from([')', '}'].contains(&next));
        if depth == 0 {
            return &rest[at + 1..];
        }
    }
    rest
}

fn is_test(file: &Path) -> bool {
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

fn without_comments(source: &str) -> String {
    source.lines().map(|line| line.split("//").next().unwrap_or_default().to_owned() + "\n").collect()
}

fn read(file: &Path) -> String {
    std::fs::read_to_string(file).expect("a source can be read")
}
