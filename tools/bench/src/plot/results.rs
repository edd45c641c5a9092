//! The result lines of the scenarios.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use serde::Deserialize;
use serde_json::{Map, Value};

/// The plotted parts of a result.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RunResult {
    pub(super) scenario: String,
    pub(super) messenger: String,
    pub(super) machine: Machine,
    parameters: Map<String, Value>,
    figures: Map<String, Value>,
}

#[derive(Debug, Clone, Deserialize)]
pub(super) struct Machine {
    pub(super) cores: u32,
    pub(super) cpu: Option<String>,
}

impl RunResult {
    pub(super) fn figure(&self, name: &str) -> Option<f64> {
        self.figures.get(name)?.as_f64()
    }

    /// A parameter of a run, such as `window 8`; empty if the run has no such parameter.
    pub(super) fn parameter(&self, name: &str) -> String {
        self.parameters.get(name).map_or_else(String::new, |value| format!("{name} {value}"))
    }
}

pub(super) fn read(files: &[PathBuf]) -> anyhow::Result<Vec<RunResult>> {
    let mut results = Vec::new();
    for file in files {
        let text = fs::read_to_string(file).with_context(|| format!("{} cannot be read", file.display()))?;
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let wrong = || format!("{}:{}: this is not a result", file.display(), number + 1);
            results.push(serde_json::from_str(line).with_context(wrong)?);
        }
    }
    Ok(results)
}
