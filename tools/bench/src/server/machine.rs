//! The machine of a run.

use std::fs;

use rustix::system::uname;
use serde_json::{Value, json};

/// Part of every result, so that only results of the same machine are compared.
pub(crate) fn describe() -> Value {
    let cores = std::thread::available_parallelism().map_or(0, std::num::NonZero::get);
    let field = |file: &str, name: &str| {
        let text = fs::read_to_string(file).ok()?;
        let line = text.lines().find(|line| line.starts_with(name))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    };
    let memory_kib =
        field("/proc/meminfo", "MemTotal").and_then(|total| total.strip_suffix(" kB")?.parse::<u64>().ok());
    json!({
        "cores": cores,
        "cpu": field("/proc/cpuinfo", "model name"),
        "memory_mib": memory_kib.map(|kib| kib / 1_024),
        "kernel": uname().release().to_string_lossy(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_machine_is_described() {
        let machine = describe();
        assert!(machine["cores"].as_u64() > Some(0) && machine["memory_mib"].as_u64() > Some(0), "{machine}");
    }
}
