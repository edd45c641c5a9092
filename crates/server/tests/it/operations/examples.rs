//! Runs the shell commands of the documents as written, so that they keep working.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::process::ServerProcess;

const REPOSITORY: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
/// The address of the server in the documents.
const ADDRESS: &str = "127.0.0.1:8080";
/// Makes a refused request fail the script, which `curl -s` alone does not do.
const STRICT: &str = "set -euo pipefail\ncurl() { command curl --fail-with-body \"$@\"; }\n";

#[tokio::test]
async fn examples_in_the_documents_can_be_run() {
    let tools = ["bash", "curl", "jq"];
    if let Some(missing) = tools.iter().find(|tool| !is_installed(tool)) {
        assert!(std::env::var_os("CI").is_none(), "{missing} is not installed");
        println!("skipped: {missing} is not installed");
        return;
    }
    let mut run = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        let commands: Vec<&str> =
            shell_blocks(&text).into_iter().filter(|block| asks_a_server(block)).collect();
        if commands.is_empty() {
            continue;
        }
        // Each document starts with an empty server, and its blocks build on each other.
        let server = ServerProcess::start().await;
        let address = server.address().to_string();
        let script = format!("{STRICT}{}", commands.concat()).replace(ADDRESS, &address);
        let done = tokio::task::spawn_blocking(move || bash(&script)).await.unwrap();
        let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{}: {out}\n{err}", document.display());
        assert!(!out.contains("/docs/errors"), "{}: something was refused: {out}", document.display());
        run += commands.len();
    }
    assert!(run >= 3, "only {run} examples were found");
}

fn bash(script: &str) -> std::process::Output {
    Command::new("bash").arg("-c").arg(script).stdin(Stdio::null()).output().unwrap()
}

fn is_installed(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    found.is_ok_and(|status| status.success())
}

fn documents() -> Vec<PathBuf> {
    let root = Path::new(REPOSITORY);
    let mut found = vec![root.join("README.md")];
    for folder in ["docs", "docs/guides"] {
        let entries = std::fs::read_dir(root.join(folder)).unwrap();
        let paths = entries.map(|entry| entry.unwrap().path());
        found.extend(paths.filter(|path| path.extension().is_some_and(|end| end == "md")));
    }
    found
}

/// The text between ```` ```sh ```` and ```` ``` ````.
fn shell_blocks(text: &str) -> Vec<&str> {
    let after_fence = text.split("```sh\n").skip(1);
    after_fence.filter_map(|rest| rest.split("```").next()).collect()
}

/// True for blocks with curl, except those with an interactive program.
fn asks_a_server(block: &str) -> bool {
    block.contains("curl ") && !block.contains("websocat")
}
