//! Commands, with and without a running server.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};

use crate::people::{soon, unique};
use crate::process::{ServerProcess, godwit, run, run_with_stdin};
use crate::raw;
use crate::store::TestStore;

const PASSWORD: &str = "correct horse battery";

/// The working folder of commands, on the store of this run.
struct DataFolder {
    folder: tempfile::TempDir,
    data: PathBuf,
    _store: TestStore,
}

impl DataFolder {
    fn new() -> Self {
        let (folder, store) = (tempfile::tempdir().unwrap(), TestStore::of_run());
        store.settle(folder.path());
        Self { data: folder.path().join("data"), folder, _store: store }
    }
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The single line of an error.
pub(crate) fn refused(output: &Output) -> String {
    let stderr = String::from_utf8(output.stderr.clone()).unwrap();
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.starts_with("error: "), "{stderr}");
    assert!(output.stdout.is_empty(), "{}", stdout(output));
    stderr
}

pub(crate) fn succeeded(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    stdout(output)
}

fn sign_in(server: &ServerProcess, handle: &str, password: &str) -> u16 {
    let body = format!(r#"{{"handle":"{handle}","password":"{password}"}}"#);
    raw::post(server.address(), "/v1/sessions", &body).unwrap().status
}

/// The line of a user in the list of users.
fn listed(data: &Path, handle: &str) -> String {
    let list = succeeded(&run(data, &["user", "list"]));
    let line = list.lines().find(|line| line.split(' ').next() == Some(handle));
    line.unwrap_or_else(|| panic!("{handle} is not in\n{list}")).to_owned()
}

#[test]
fn users_without_a_running_server() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let (ada, bob) = (&unique("ada"), &unique("bob"));
    let added = succeeded(&run(&data, &["user", "add", &ada.to_uppercase(), "--name", "Ada Lovelace"]));
    assert!(added.starts_with(&format!("added {ada} (id ")), "{added}");
    assert!(added.contains("\npassword: "), "no password was made: {added}");
    assert!(refused(&run(&data, &["user", "add", ada])).contains("taken"));
    assert!(refused(&run(&data, &["user", "add", "a"])).contains("handle must have 3 to 32"));
    assert!(refused(&run(&data, &["user", "disable", bob])).contains("no such user"));
    let short = run_with_stdin(&data, &["user", "add", bob, "--password-stdin"], "short\n");
    assert!(refused(&short).contains("password must have"));

    assert_eq!(succeeded(&run(&data, &["user", "disable", ada])), format!("disabled {ada}\n"));
    assert!(listed(&data, ada).ends_with("Ada Lovelace  (disabled)"), "{}", listed(&data, ada));
    assert_eq!(succeeded(&run(&data, &["user", "disable", ada, "--enable"])), format!("enabled {ada}\n"));
    let list = succeeded(&run(&data, &["user", "list", "--json"]));
    let line = list.lines().find(|line| line.contains(&format!(r#""handle":"{ada}""#))).unwrap();
    assert!(line.contains(r#""display_name":"Ada Lovelace""#) && !line.contains("disabled_at"), "{line}");
}

#[tokio::test]
async fn users_of_a_running_server() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let ada = &unique("ada");
    let mut server = ServerProcess::on(&data, &[]).await;
    let args = ["user", "add", ada, "--password-stdin"];
    let added = succeeded(&run_with_stdin(&data, &args, &format!("{PASSWORD}\n")));
    assert!(!added.contains("password"), "{added}");
    assert_eq!(sign_in(&server, ada, PASSWORD), 201);

    assert_eq!(succeeded(&run(&data, &["user", "disable", ada])), format!("disabled {ada}\n"));
    assert_eq!(sign_in(&server, ada, PASSWORD), 403);
    succeeded(&run(&data, &["user", "disable", ada, "--enable"]));
    assert_eq!(sign_in(&server, ada, PASSWORD), 201);

    let args = ["user", "passwd", ada, "--password-stdin"];
    succeeded(&run_with_stdin(&data, &args, "quite another one\r\n"));
    assert_eq!((sign_in(&server, ada, PASSWORD), sign_in(&server, ada, "quite another one")), (401, 201));
    listed(&data, ada);

    // A killed server leaves its socket behind.
    server.kill().await;
    assert!(data.join("admin.sock").exists());
    listed(&data, ada);
    server.start_again().await;
    assert_eq!(sign_in(&server, ada, "quite another one"), 201);
    listed(&data, ada);
}

#[tokio::test]
async fn only_the_owner_can_use_the_admin_socket() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let _server = ServerProcess::on(&data, &[]).await;
    let mode = fs::metadata(data.join("admin.sock")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn a_long_path_does_not_hinder_the_admin_socket() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("a".repeat(120)).join("data");
    fs::create_dir_all(data.parent().unwrap()).unwrap();
    let mut server = ServerProcess::on(&data, &[]).await;
    let ada = unique("ada");
    succeeded(&run(&data, &["user", "add", &ada]));
    listed(&data, &ada);
    server.stop().await;
}

#[tokio::test]
async fn a_folder_has_one_server() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let _server = ServerProcess::on(&data, &[]).await;
    let error = refused(&run(&data, &["serve", "--listen", "127.0.0.1:0", "--set", "log.level=error"]));
    assert!(error.contains(data.to_str().unwrap()), "{error}");
}

#[tokio::test]
async fn commands_do_not_reach_a_server_that_has_other_data() {
    let DataFolder { data, folder, _store } = DataFolder::new();
    let _server = ServerProcess::on(&data, &[]).await;
    for other in
        [format!("embedded:{}", folder.path().join("other").display()), "cassandra://db1/other".to_owned()]
    {
        let error = refused(&run(&data, &["user", "list", "--store", &other]));
        assert!(error.contains("has its data in") && error.contains(&other), "{error}");
    }
    // Without a named store, the command uses the server's store.
    succeeded(&run(&data, &["user", "list"]));
}

#[tokio::test]
async fn a_port_has_one_server() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let server = ServerProcess::on(&data, &[]).await;
    let other = data.with_file_name("other");
    let error = refused(&run(
        &other,
        &["serve", "--listen", &server.address().to_string(), "--set", "log.level=error"],
    ));
    assert!(error.contains("cannot listen on"), "{error}");
}

#[test]
fn wrong_flags_and_settings_are_refused() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let usage = run(&data, &["serve", "--listen", "here"]);
    assert_eq!(usage.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&usage.stderr).contains("127.0.0.1:8080"));
    for (args, expected) in [
        (vec!["serve", "--set", "rates.speed=1"], "unknown setting `speed`"),
        (vec!["serve", "--set", "store.cassandra.consistency.read=ONE"], "ONE can miss acknowledged writes"),
        (vec!["schema", "status", "--set", "store.cassandra.username=ada"], "both username and password"),
        (vec!["serve", "--redis", "redis://localhost"], "needs no Redis"),
        (vec!["serve", "--config", "nowhere.toml"], "cannot read the configuration file nowhere.toml"),
        (vec!["config", "check", "--set", "socket.heartbeat_ms=1"], "socket.heartbeat_ms is 1"),
        (vec!["config", "check", "--set", "auth.application.secret_file=nowhere"], "cannot read nowhere"),
    ] {
        let error = refused(&run(&data, &args));
        assert!(error.contains(expected), "{args:?}: {error}");
    }
    assert!(!data.exists());
}

#[test]
fn every_problem_of_a_configuration_has_its_line() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let args =
        ["config", "check", "--set", "server.max_connections=0", "--set", "store.embedded.cache_mib=0"];
    let output = run(&data, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(1), 2), "{stderr}");
    assert_eq!(succeeded(&run(&data, &["config", "check"])), "ok\n");
}

#[tokio::test]
async fn what_may_be_a_mistake_is_said_by_the_check_and_by_the_server() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    let application = [
        ["--set", "auth.application.secret=0123456789abcdef0123456789abcdef"],
        ["--set", "auth.application.issuer=shop"],
        ["--set", "auth.application.accept_any_audience=true"],
    ]
    .concat();
    let args = [&["config", "check", "--listen", "0.0.0.0:0"][..], &application].concat();
    let output = run(&data, &args);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!((output.status.code(), stdout(&output).as_str()), (Some(0), "ok\n"), "{stderr}");
    let warnings: Vec<&str> = stderr.lines().collect();
    let [forwarded, audience] = warnings.as_slice() else { panic!("{stderr}") };
    assert!(forwarded.starts_with("warning: server.trust_forwarded_for is not set"), "{forwarded}");
    assert!(audience.starts_with("warning: auth.application.accept_any_audience is true"), "{audience}");

    let server = ServerProcess::with_args(&application).await;
    soon("the server to say it", async {
        while !server.stderr().contains("auth.application.accept_any_audience is true") {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    })
    .await;
}

#[test]
fn printed_config_can_be_used_and_has_no_secrets() {
    let DataFolder { data, folder, _store } = DataFolder::new();
    let secret = "0123456789abcdef0123456789abcdef";
    let set = format!("auth.application.secret={secret}");
    let printed = succeeded(&run(&data, &["config", "print", "--set", &set, "--listen", "127.0.0.1:1"]));
    assert!(!printed.contains(secret) && printed.contains("secret = \"…\""), "{printed}");

    let printed = succeeded(&run(&data, &["config", "print", "--listen", "127.0.0.1:1"]));
    let file = folder.path().join("godwit.toml");
    fs::write(&file, &printed).unwrap();
    assert_eq!(succeeded(&run(&data, &["config", "print"])), printed);
    assert_eq!(succeeded(&run(&data, &["config", "check"])), "ok\n");
}

#[test]
fn help_version_and_completions() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    assert!(succeeded(&run(&data, &["--version"])).starts_with("godwit 0."));
    assert!(succeeded(&run(&data, &["--help"])).contains("godwit user add"));
    assert!(succeeded(&run(&data, &["serve", "--help"])).contains("SIGTERM"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(succeeded(&run(&data, &["completions", shell])).contains("godwit"));
    }
}

#[test]
fn a_reader_that_leaves_is_no_error() {
    let DataFolder { data, folder: _folder, _store } = DataFolder::new();
    for args in [vec!["config", "print"], vec!["completions", "bash"]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = godwit(&data).args(&args).stdout(Stdio::from(writer)).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{args:?}");
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}
