//! `godwit cluster`.

use std::io::{Write, stderr, stdout};

use anyhow::{Context, bail};
use godwit_cluster::NodeInfo;
use godwit_cluster::status::{self, Nodes};
use godwit_protocol::Timestamp;

use super::config::refuse_problems;
use crate::clock::SystemClock;
use crate::config::Config;
use crate::wiring::Core;

pub(super) async fn status(config: &Config, json: bool) -> anyhow::Result<()> {
    refuse_problems(config)?;
    let Some(redis) = config.cluster.redis().map_err(anyhow::Error::msg)? else {
        bail!("servers that share a store find each other through Redis: name its address with --redis");
    };
    let signing_key = Core::signing_key(config).await?;
    let Nodes { known: nodes, strangers } = status::nodes(&redis, &signing_key, config.cluster.secret())
        .await
        .with_context(|| format!("{redis} does not answer"))?;
    if strangers > 0 {
        let problem = "entries are not signed with this cluster.secret";
        writeln!(stderr(), "warning: {strangers} {problem}; use the secret of the servers")?;
    }
    let mut out = stdout().lock();
    if json {
        for node in &nodes {
            writeln!(out, "{}", serde_json::to_string(node)?)?;
        }
        return Ok(());
    }
    if nodes.is_empty() {
        writeln!(out, "no servers are running")?;
        return Ok(());
    }
    print(&mut out, &nodes, godwit_domain::ports::Clock::now(&SystemClock))?;
    Ok(())
}

fn print(out: &mut impl Write, nodes: &[NodeInfo], now: Timestamp) -> std::io::Result<()> {
    let heading =
        ["NODE", "HOST", "VERSION", "SERVES", "INTERNAL", "UP", "SOCKETS", "APPENDS/S", "LAG", "STATE"];
    let mut rows = vec![heading.map(str::to_owned)];
    for node in nodes {
        rows.push([
            node.id.to_string(),
            node.host.clone(),
            node.version.clone(),
            node.serves.to_string(),
            node.internal.to_string(),
            duration(now.millis_since(node.started_at)),
            node.sockets.to_string(),
            node.appends.to_string(),
            format!("{} ms", node.lag_ms),
            if node.draining { "stopping" } else { "serving" }.to_owned(),
        ]);
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..heading.len()).map(width).collect();
    for row in &rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        writeln!(out, "{}", cells.join("  ").trim_end())?;
    }
    Ok(())
}

fn duration(ms: i64) -> String {
    let secs = ms.max(0) / 1_000;
    match (secs / 86_400, secs / 3_600 % 24, secs / 60 % 60, secs % 60) {
        (0, 0, 0, secs) => format!("{secs} s"),
        (0, 0, minutes, secs) => format!("{minutes} min {secs} s"),
        (0, hours, minutes, _) => format!("{hours} h {minutes} min"),
        (days, hours, ..) => format!("{days} d {hours} h"),
    }
}
