//! `godwit-bench plot`: results as pictures.
//!
//! - [`pictures`]: the pictures with their axes
//! - [`results`]: the result lines of the scenarios
//! - [`chart`], [`scale`]: line charts as SVG

mod chart;
mod pictures;
mod results;
mod scale;

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, ensure};
use clap::Args;

use pictures::PICTURES;

/// Plot results as SVG files
///
/// Of several results with the same parameters, the median is plotted.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Result files of scenarios, written with --json
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,

    /// Folder for the SVG files
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let results = results::read(&arguments.results)?;
    let charts: Vec<_> =
        PICTURES.iter().filter_map(|picture| Some((picture.file, picture.draw(&results)?))).collect();
    ensure!(!charts.is_empty(), "these results contain nothing to plot");
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot create {}", arguments.out.display()))?;
    for (file, chart) in charts {
        let path = arguments.out.join(file);
        fs::write(&path, chart.to_svg()).with_context(|| format!("{} cannot be written", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
