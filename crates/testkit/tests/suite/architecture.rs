//! Dependencies point one way, and a few names stay where they belong.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What each crate of the workspace may depend on, of the workspace. Tests may use more.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("domain", &["protocol"]),
    ("store-embedded", &["domain", "protocol"]),
    ("store-cassandra", &["domain", "protocol"]),
    ("delivery", &["domain", "protocol"]),
    ("cluster", &["delivery", "domain", "protocol"]),
    ("crypto", &["protocol"]),
    ("transfer", &["domain", "protocol"]),
    ("web", &[]),
    (
        "server",
        &[
            "store-embedded",
            "store-cassandra",
            "delivery",
            "cluster",
            "transfer",
            "web",
            "domain",
            "protocol",
        ],
    ),
    ("client", &["protocol"]),
    // It measures the parts by themselves too.
    ("bench", &["store-embedded", "store-cassandra", "delivery", "client", "domain", "protocol"]),
    ("testkit", &["store-embedded", "store-cassandra", "delivery", "domain", "protocol", "client"]),
];

/// Crates that may be used in these crates only, so that the others can be read without knowing them.
const AT_HOME_IN: &[(&str, &[&str])] = &[
    ("lsm-tree", &["store-embedded"]),
    ("scylla", &["store-cassandra"]),
    ("redis", &["cluster"]),
    ("snow", &["cluster"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("jsonwebtoken", &["server", "bench"]),
    ("argon2", &["server"]),
];

/// The protocol is for clients too, in browsers too.
const PROTOCOL_NEEDS: &[&str] = &["serde", "serde_json", "itoa", "jiff", "utoipa"];

/// Names that stand in one file or folder of a crate.
const NAMED_ONLY_IN: &[(&str, &str, &str)] = &[
    ("lsm_tree::", "crates/store-embedded/src", "engine"),
    ("godwit_store_", "crates/server/src", "wiring.rs"),
    ("SystemTime::now", "crates/server/src", "clock.rs"),
];

#[test]
fn crates_depend_only_on_what_the_design_allows() {
    let allowed: BTreeMap<_, _> = MAY_DEPEND_ON.iter().copied().collect();
    for (name, dependencies) in workspace() {
        let allowed =
            allowed.get(&*name).unwrap_or_else(|| panic!("{name} is a new crate: say what it may depend on"));
        for dependency in dependencies.iter().filter_map(|d| d.strip_prefix("godwit-")) {
            assert!(allowed.contains(&dependency), "{name} must not depend on {dependency}");
        }
    }
}

#[test]
fn libraries_stay_where_they_are_at_home() {
    let crates = workspace();
    for (library, homes) in AT_HOME_IN {
        for (name, dependencies) in &crates {
            let used = dependencies.iter().any(|d| d == library);
            assert!(!used || homes.contains(&&**name), "{name} must not use {library}");
        }
    }
    for dependency in &crates["protocol"] {
        assert!(PROTOCOL_NEEDS.contains(&&**dependency), "the protocol must not need {dependency}");
    }
}

#[test]
fn names_stand_in_the_one_file_that_may_know_them() {
    for (name, folder, home) in NAMED_ONLY_IN {
        let home = root().join(folder).join(home);
        assert!(home.exists(), "{} has gone: mend this test", home.display());
        for file in sources(&root().join(folder)) {
            let at_home = file.starts_with(&home);
            let named = std::fs::read_to_string(&file).expect("a source can be read").contains(name);
            assert!(
                at_home || !named,
                "{name} is named in {}, and belongs into {}",
                file.display(),
                home.display()
            );
        }
    }
}

/// The crates of the workspace without their prefix, with what they depend on outside of tests.
fn workspace() -> BTreeMap<String, Vec<String>> {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo can be run");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo writes JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    packages
        .iter()
        .map(|package| (text(&package["name"]).replace("godwit-", ""), dependencies(package)))
        .collect()
}

fn dependencies(package: &Value) -> Vec<String> {
    let all = package["dependencies"].as_array().expect("there is a list of dependencies");
    all.iter().filter(|d| d["kind"].is_null()).map(|d| text(&d["name"])).collect()
}

fn text(value: &Value) -> String {
    value.as_str().expect("a name is text").to_owned()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the entry can be read").path();
        if path.is_dir() {
            found.extend(sources(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
    found
}
