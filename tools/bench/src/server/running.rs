//! Processes and their folder. All of them are removed when this program ends, also by Ctrl-C or an error.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rustix::fs::statfs;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinHandle;

/// The exit code after SIGINT, by shell convention: 128 + SIGINT.
const EXIT_INTERRUPTED: i32 = 130;
/// The `statfs` type of a file system in memory.
const TMPFS: u64 = 0x0102_1994;
/// The time limit for processes that are asked to end.
const END_MAX: Duration = Duration::from_secs(5);
/// The number of folders that this process has created.
static MADE: AtomicU32 = AtomicU32::new(0);
const LOOK_INTERVAL: Duration = Duration::from_millis(20);

#[derive(Debug)]
pub(super) struct Running {
    ends: Arc<Ends>,
    path: PathBuf,
    watch: JoinHandle<()>,
}

/// Processes to kill and folders to remove, however this program ends.
#[derive(Debug)]
struct Ends {
    processes: Mutex<Vec<Process>>,
    folder: Mutex<Option<TempDir>>,
}

#[derive(Debug)]
struct Process {
    child: Child,
    /// The process holds resources of the machine, so it is asked to end instead of killed.
    is_asked: bool,
}

impl Running {
    /// Creates a fresh folder in `data`. Must be called on a runtime: watches for Ctrl-C.
    pub(super) fn new(data: &Path) -> anyhow::Result<Self> {
        let folder = make_folder(data)?;
        let path = folder.path().to_owned();
        let ends = Arc::new(Ends { processes: Mutex::default(), folder: Mutex::new(Some(folder)) });
        let watch = tokio::spawn(end_when_interrupted(ends.clone()));
        Ok(Self { ends, path, watch })
    }

    pub(super) fn folder(&self) -> &Path {
        &self.path
    }

    pub(super) fn add(&self, child: Child, is_asked: bool) {
        lock(&self.ends.processes).push(Process { child, is_asked });
    }

    /// The process that was added last.
    pub(super) fn pid(&self) -> Option<u32> {
        lock(&self.ends.processes).last().map(|process| process.child.id())
    }

    pub(super) fn has_ended(&self) -> bool {
        lock(&self.ends.processes)
            .last_mut()
            .is_none_or(|process| !matches!(process.child.try_wait(), Ok(None)))
    }

    /// Kills all processes. They need not finish, because their data is discarded.
    pub(super) fn kill(&self) {
        self.ends.kill();
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.watch.abort();
        self.ends.end();
    }
}

impl Ends {
    fn kill(&self) {
        for mut process in lock(&self.processes).drain(..).rev() {
            process.kill();
        }
    }

    fn end(&self) {
        for mut process in lock(&self.processes).drain(..).rev() {
            if process.is_asked {
                process.ask();
            }
            process.kill();
        }
        drop(lock(&self.folder).take());
    }
}

impl Process {
    fn ask(&mut self) {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let began = Instant::now();
        // It may have ended on its own.
        if pid.is_some_and(|pid| kill_process(pid, Signal::QUIT).is_ok()) {
            while matches!(self.child.try_wait(), Ok(None)) && began.elapsed() < END_MAX {
                thread::sleep(LOOK_INTERVAL);
            }
        }
    }

    fn kill(&mut self) {
        // It may have ended on its own.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn end_when_interrupted(ends: Arc<Ends>) {
    let (Ok(mut interrupt), Ok(mut terminate)) =
        (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
    else {
        return;
    };
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
    }
    ends.end();
    eprintln!("\ninterrupted: no result");
    std::process::exit(EXIT_INTERRUPTED);
}

/// Refuses a folder in memory, where an fsync costs nothing.
fn make_folder(data: &Path) -> anyhow::Result<TempDir> {
    let wrong = || format!("cannot create a folder in {}", data.display());
    fs::create_dir_all(data).with_context(wrong)?;
    let kind = statfs(data).with_context(wrong)?.f_type;
    ensure!(
        u64::try_from(kind) != Ok(TMPFS),
        "{} is in memory; choose a real disk with --data",
        data.display()
    );
    let data = data.canonicalize().with_context(wrong)?;
    // Without capital letters: WuKongIM does not find its own files in a folder with some.
    let name = format!("godwit-bench-{}-{}", std::process::id(), MADE.fetch_add(1, Ordering::Relaxed));
    tempfile::Builder::new().prefix(&name).rand_bytes(0).tempdir_in(data).with_context(wrong)
}

/// The last non-empty line of a log.
pub(super) fn last_line(log: &Path) -> Option<String> {
    let log = fs::read_to_string(log).ok()?;
    log.lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned)
}
