//! Tests that dependencies point one way, between crates and between the modules of a store, and that some names stay in one
//! place.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The workspace crates that each crate may depend on. Tests may use more.
const MAY_DEPEND_ON: &[(&str, &[&str])] = &[
    ("protocol", &[]),
    ("domain", &["protocol"]),
    ("records", &["domain", "protocol"]),
    ("store-embedded", &["records", "domain", "protocol"]),
    ("store-cassandra", &["records", "domain", "protocol"]),
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
    // The bench also measures single parts.
    ("bench", &["store-embedded", "store-cassandra", "delivery", "client", "domain", "protocol"]),
    ("testkit", &["store-embedded", "store-cassandra", "delivery", "domain", "protocol", "client"]),
    ("testbed", &[]),
];

/// External crates that only these crates may use.
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

/// The protocol is for clients too, including those in browsers.
const PROTOCOL_NEEDS: &[&str] = &["serde", "serde_json", "itoa", "jiff", "utoipa"];

/// Names that may appear only in one file or folder of a crate.
const NAMED_ONLY_IN: &[(&str, &str, &str)] = &[
    ("lsm_tree::", "crates/store-embedded/src", "engine"),
    ("godwit_store_", "crates/server/src", "wiring"),
    ("SystemTime::now", "crates/server/src", "clock.rs"),
];

/// The modules of each store in layers, the lowest first. A module imports only from lower layers. `lib` is the store
/// itself, with everything else at the root of the crate.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "store-embedded",
        &[
            &["options", "measure"],
            &["engine"],
            &["keys"],
            &["records"],
            &["read"],
            &["txn"],
            &["inbox", "due"],
            &["account"],
            &["conversation"],
            &["transfer"],
            &["committer", "folder"],
            &["lib"],
            &["ports"],
        ],
    ),
    (
        "store-cassandra",
        &[
            &["options", "values", "pause", "keyed_mutex"],
            &["cql"],
            &["single_flight", "records", "schema", "skew", "installation", "servers", "due"],
            &["lease"],
            &["transfer"],
            &["probe", "account"],
            &["inbox"],
            &["conversation"],
            &["lib"],
            &["ports"],
        ],
    ),
];

/// The modules that both stores have. Whoever knows such a module of one store finds it in the other.
const ROOMS: &[&str] = &["account", "conversation", "due", "inbox", "ports", "records", "transfer"];

/// What only one store has in these modules. ARCHITECTURE.md says why.
const OWN: &[(&str, &[&str])] = &[
    (
        "store-embedded",
        &[
            "account/concealed",
            "conversation/chunks",
            "inbox/hot",
            "inbox/order",
            "inbox/page",
            "records/account",
            "records/conversation",
            "records/inbox",
            "records/personal",
            "records/transfer",
            "records/words",
            "transfer/tracker",
        ],
    ),
    (
        "store-cassandra",
        &[
            "account/beside",
            "account/memberships",
            "account/queue",
            "account/rows",
            "account/snapshot",
            "account/statements",
            "account/txn",
            "account/writer",
            "conversation/buckets",
            "conversation/clearing",
            "conversation/concealed",
            "conversation/details",
            "conversation/expiries",
            "conversation/finding",
            "conversation/hidden",
            "conversation/invites",
            "conversation/members",
            "conversation/message_states",
            "conversation/project",
            "conversation/rows",
            "conversation/scan",
            "conversation/watermarks",
            "inbox/epochs",
            "inbox/placing",
            "transfer/gate",
            "transfer/ids",
            "transfer/ledger",
            "transfer/marks",
            "transfer/rounds",
        ],
    ),
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
fn libraries_are_used_only_in_their_crate() {
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
fn restricted_names_occur_only_in_their_file() {
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

#[test]
fn modules_of_a_store_import_only_from_layers_below() {
    for (store, layers) in LAYERS {
        let src = root().join("crates").join(store).join("src");
        let layer = |module: &str| {
            let found = layers.iter().position(|layer| layer.contains(&module));
            found.unwrap_or_else(|| panic!("{store} has a new module `{module}`: say in which layer it is"))
        };
        for file in sources(&src) {
            let path = file.strip_prefix(&src).expect("it is in the folder").with_extension("");
            let parts: Vec<_> = path.iter().map(|part| part.to_str().expect("a path is text")).collect();
            if parts.iter().any(|part| is_test(part)) {
                continue;
            }
            let source = std::fs::read_to_string(&file).expect("a source can be read");
            for imported in imports(&source).iter().filter(|module| !is_test(module)) {
                let is_below = imported == parts[0] || layer(imported) < layer(parts[0]);
                assert!(is_below, "{} must not import from `{imported}`", file.display());
            }
        }
    }
}

#[test]
fn both_stores_have_the_same_modules() {
    let [one, other] = OWN else { panic!("there are two stores") };
    let shared = [one, other].map(|(store, own)| {
        let all = modules(store);
        let own: BTreeSet<String> = own.iter().map(|module| (*module).to_owned()).collect();
        let gone: Vec<_> = own.difference(&all).collect();
        assert_eq!(gone, [""; 0], "{store} has these modules no more: mend this test");
        &all - &own
    });
    let alone: Vec<_> = shared[0].symmetric_difference(&shared[1]).collect();
    assert_eq!(
        alone, [""; 0],
        "only one store has these modules: name them alike, or say in ARCHITECTURE.md why not"
    );
}

/// The modules of the rooms of a store, as `room/module`.
fn modules(store: &str) -> BTreeSet<String> {
    let src = root().join("crates").join(store).join("src");
    let files = ROOMS.iter().flat_map(|room| sources(&src.join(room)));
    let module = |file: PathBuf| {
        let path = file.strip_prefix(&src).expect("it is in the folder").with_extension("");
        let parts: Vec<_> = path.iter().map(|part| part.to_str().expect("a path is text")).collect();
        let is_product = !parts.iter().any(|part| is_test(part));
        is_product
            .then(|| parts.into_iter().filter(|part| *part != "mod").take(2).collect::<Vec<_>>().join("/"))
    };
    files.filter_map(module).collect()
}

/// True for modules that exist in tests only, by their name.
fn is_test(module: &str) -> bool {
    module == "tests" || module == "on_cassandra" || module.starts_with("test_")
}

/// The modules of its own crate that a file names, without comments and tests.
fn imports(source: &str) -> Vec<String> {
    let product = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let code: String = product.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let paths = code.split("crate::").skip(1);
    let names = paths.flat_map(|path| path.strip_prefix('{').map_or_else(|| vec![path], top_level));
    // Names that are not modules are at the root of the crate.
    let module = |name: &str| if name.starts_with(char::is_uppercase) { "lib" } else { name }.to_owned();
    names.map(first_word).filter(|name| !name.is_empty()).map(module).collect()
}

/// The top-level items of a list in braces.
fn top_level(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0_usize, 0);
    for (at, char) in list.char_indices() {
        match char {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(&list[start..at]);
                break;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

fn first_word(path: &str) -> &str {
    let path = path.trim_start();
    path.split(|char: char| !char.is_alphanumeric() && char != '_').next().unwrap_or_default()
}

/// The crates of the workspace without their prefix, with their dependencies outside of tests.
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

pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

pub(crate) fn sources(folder: &Path) -> Vec<PathBuf> {
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
