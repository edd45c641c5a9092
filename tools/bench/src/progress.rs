//! Progress on stderr: one line that is redrawn on a terminal, otherwise one line per step.

use std::io::{IsTerminal, Write, stderr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinHandle;
use tokio::time::interval;

const REDRAW_INTERVAL: Duration = Duration::from_millis(200);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Line,
    Lines,
    #[cfg(test)]
    Silent,
}

/// A long step. It ends on drop.
#[derive(Debug)]
pub(crate) struct Step {
    done: Done,
    drawing: Option<JoinHandle<()>>,
}

/// The completed amount of a step.
#[derive(Debug, Clone, Default)]
pub(crate) struct Done(Arc<AtomicU64>);

impl Progress {
    pub(crate) fn to_stderr() -> Self {
        if stderr().is_terminal() { Self::Line } else { Self::Lines }
    }

    /// Shows a remark.
    pub(crate) fn note(self, text: &str) {
        match self {
            Self::Line | Self::Lines => eprintln!("{text}"),
            #[cfg(test)]
            Self::Silent => {}
        }
    }

    /// Must be called on a runtime.
    pub(crate) fn step(self, what: impl Into<String>) -> Step {
        let (what, done) = (what.into(), Done::default());
        let drawing = match self {
            Self::Line => Some(tokio::spawn(draw(what, done.clone()))),
            Self::Lines => {
                eprintln!("{what}");
                None
            }
            #[cfg(test)]
            Self::Silent => None,
        };
        Step { done, drawing }
    }
}

impl Step {
    pub(crate) fn done(&self) -> Done {
        self.done.clone()
    }
}

impl Done {
    pub(crate) fn add(&self, count: usize) {
        self.0.fetch_add(count as u64, Ordering::Relaxed);
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if let Some(drawing) = self.drawing.take() {
            drawing.abort();
            clear();
        }
    }
}

async fn draw(what: String, done: Done) {
    let began = Instant::now();
    let mut ticks = interval(REDRAW_INTERVAL);
    loop {
        ticks.tick().await;
        let seconds = began.elapsed().as_secs_f64();
        // Without stderr there is nowhere to show it.
        let _ = match done.0.load(Ordering::Relaxed) {
            0 => write!(stderr(), "\r{what}  {seconds:.1} s\x1b[K"),
            done => write!(stderr(), "\r{what}  {seconds:.1} s  {done}\x1b[K"),
        };
    }
}

fn clear() {
    let _ = write!(stderr(), "\r\x1b[K");
}
