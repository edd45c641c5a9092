//! The whole comparison, with the one messenger that is always available.

use std::fs;
use std::process::Command;

use serde_json::Value;

#[test]
fn the_bare_relay_is_measured_and_missing_messengers_are_named() {
    // Beside this test, because the folder for temporary files may be in memory.
    let folder = tempfile::tempdir_in(std::env::current_exe().unwrap().parent().unwrap()).unwrap();
    let (data, json) = (folder.path().join("data"), folder.path().join("results.json"));
    let mut bench = Command::new(env!("CARGO_BIN_EXE_godwit-bench"));
    bench.args(["peers", "--quick", "--only", "relay,wukongim", "--wukongim", "/no/such/program"]);
    bench.arg("--data").arg(&data).arg("--json").arg(&json);
    let output = bench.output().unwrap();
    let (table, said) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{said}");
    assert!(table.contains("bare relay: not durable"), "{table}");
    assert!(table.contains("bare relay, history: the relay stores no messages"), "{table}");
    assert!(
        table.contains("WuKongIM was not measured: /no/such/program does not exist: go install"),
        "{table}"
    );
    assert_eq!(fs::read_dir(&data).unwrap().count(), 0, "nothing is left behind");

    let results: Vec<Value> =
        fs::read_to_string(&json).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let scenarios: Vec<_> = results.iter().map(|result| result["scenario"].as_str().unwrap()).collect();
    assert_eq!(scenarios, ["pairs", "rate", "group", "group", "idle", "peers"]);
    for result in &results[..4] {
        assert!(result["figures"]["deliveries_per_s"].as_f64() > Some(0.0), "{result}");
        assert!(result["figures"].get("never_came").is_none(), "{result}");
    }
    assert!(results[5]["rows"][0]["figures"]["bare relay"].as_f64() > Some(0.0), "{}", results[5]);
}
