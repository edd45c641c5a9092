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

/// Draw results as SVG pictures
///
/// Of several results with the same parameters the one in the middle is drawn.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Files that scenarios have written with --json
    #[arg(required = true, value_name = "RESULTS")]
    results: Vec<PathBuf>,

    /// The folder for the pictures
    #[arg(long, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn main(arguments: &Arguments) -> anyhow::Result<()> {
    let results = results::read(&arguments.results)?;
    let charts: Vec<_> =
        PICTURES.iter().filter_map(|picture| Some((picture.file, picture.draw(&results)?))).collect();
    ensure!(!charts.is_empty(), "there is nothing in these results that could be plotted");
    fs::create_dir_all(&arguments.out)
        .with_context(|| format!("{} cannot be made", arguments.out.display()))?;
    for (file, chart) in charts {
        let path = arguments.out.join(file);
        fs::write(&path, chart.to_svg()).with_context(|| format!("{} cannot be written", path.display()))?;
        println!("{}", path.display());
    }
    Ok(())
}
