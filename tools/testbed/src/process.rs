//! A process with a folder: its log, its pid, and its leash.
//!
//! Whether the process runs is read from the lock on its log, which it holds as long as it lives. So neither a
//! reused pid nor a zombie is mistaken for it.

use std::fs::{self, File, TryLockError};
use std::io::{BufRead as _, BufReader};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::error::{Doing as _, TestbedError};
use crate::leash;
use crate::software::last_lines;

const LOG: &str = "out.log";
const PREVIOUS_LOG: &str = "out.previous.log";
const PID: &str = "pid";
const LOG_LINES_IN_ERROR: usize = 15;
const DEATH_WAIT_MAX: Duration = Duration::from_secs(60);

/// Starts the program in the background and prints its pid. Kills everything in this process group when the
/// program has ended or when its leash, if it has one, is released. The log is the standard error, so that the
/// pid can use the standard output. Only the program keeps the log open.
const WRAPPER: &str = r#"
trap '' HUP INT
leashed=$1
shift
exec 3<&0 </dev/null
"$@" >&2 3<&- &
program=$!
echo $program
exec >/dev/null 2>&1
if [ "$leashed" = leashed ]; then
    { cat <&3; kill -9 0; } &
fi
exec 3<&-
wait $program
kill -9 0
"#;

/// A program that this or another process has started in a folder.
#[derive(Debug, Clone)]
pub(super) struct Process {
    /// The name in errors.
    name: String,
    folder: PathBuf,
    /// The folder of the owner of the leash.
    owner: PathBuf,
}

impl Process {
    pub(super) fn new(name: String, folder: PathBuf, owner: &Path) -> Self {
        Self { name, folder, owner: owner.to_owned() }
    }

    pub(super) fn start(&self, program: &Path, arguments: &[String]) -> Result<(), TestbedError> {
        let log = self.new_log()?;
        let leash = leash::reader(&self.owner)?;
        let mut child = Command::new("sh")
            .args(["-c", WRAPPER, "wrapper", if leash.is_some() { "leashed" } else { "free" }])
            .arg(program)
            .args(arguments)
            .current_dir(&self.folder)
            .stdin(leash.map_or_else(Stdio::null, Stdio::from))
            .stdout(Stdio::piped())
            .stderr(log)
            .process_group(0)
            .spawn()
            .doing(|| "run sh".to_owned())?;
        let mut pid = String::new();
        let pipe = child.stdout.take().expect("the output is piped");
        BufReader::new(pipe).read_line(&mut pid).doing(|| format!("start {}", self.name))?;
        std::thread::spawn(move || child.wait());
        fs::write(self.folder.join(PID), pid.trim()).doing(|| format!("note the pid of {}", self.name))
    }

    /// The program inherits the open file, and the lock with it.
    fn new_log(&self) -> Result<File, TestbedError> {
        let path = self.log_path();
        if path.exists() {
            let previous = self.folder.join(PREVIOUS_LOG);
            fs::rename(&path, &previous).doing(|| format!("rename {}", path.display()))?;
        }
        let log = File::create(&path).doing(|| format!("create {}", path.display()))?;
        log.lock().doing(|| format!("lock {}", path.display()))?;
        Ok(log)
    }

    pub(super) fn is_running(&self) -> bool {
        File::open(self.log_path()).is_ok_and(|log| is_locked(&log))
    }

    pub(super) fn pid(&self) -> Option<i32> {
        fs::read_to_string(self.folder.join(PID)).ok()?.parse().ok()
    }

    /// Kills the process. Returns when it is gone and its ports are closed.
    pub(super) fn kill(&self) -> Result<(), TestbedError> {
        self.signal(Signal::KILL)?;
        let began = Instant::now();
        while self.is_running() {
            if began.elapsed() > DEATH_WAIT_MAX {
                return Err(self.error("does not exit after SIGKILL"));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
        Ok(())
    }

    /// Sends a signal. Does nothing if the process does not run.
    pub(super) fn signal(&self, signal: Signal) -> Result<(), TestbedError> {
        if !self.is_running() {
            return Ok(());
        }
        let Some(pid) = self.pid().and_then(Pid::from_raw) else { return Ok(()) };
        match kill_process(pid, signal) {
            Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
            Err(error) => Err(error).doing(|| format!("send a signal to {}", self.name)),
        }
    }

    /// The log since the last start.
    pub(super) fn log(&self) -> String {
        fs::read(self.log_path())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    pub(super) fn log_path(&self) -> PathBuf {
        self.folder.join(LOG)
    }

    /// Waits until the log satisfies a condition. `what` describes it in the error.
    pub(super) fn wait_for(
        &self,
        what: &str,
        longest: Duration,
        mut said: impl FnMut(&str) -> bool,
    ) -> Result<(), TestbedError> {
        let began = Instant::now();
        loop {
            // Checked before the log, because a process may write the text and then end.
            let running = self.is_running();
            if said(&self.log()) {
                return Ok(());
            }
            if !running {
                return Err(self.error(&format!("ended before it was {what}")));
            }
            if began.elapsed() > longest {
                return Err(self.error(&format!("was not {what} after {} s", longest.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn error(&self, what: &str) -> TestbedError {
        let log = last_lines(&self.log(), LOG_LINES_IN_ERROR);
        TestbedError::Process { who: self.name.clone(), what: what.to_owned(), log }
    }
}

fn is_locked(log: &File) -> bool {
    matches!(log.try_lock_shared(), Err(TryLockError::WouldBlock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::leash::Leash;

    /// The file into which the owner writes what it has started.
    const TELL: &str = "GODWIT_TEST_TELL";
    const LONG: Duration = Duration::from_secs(10);

    /// A process that runs for ten minutes, in a folder of its own.
    fn sleeper(folder: &Path) -> Process {
        let process = Process::new("sleep".to_owned(), folder.to_owned(), folder);
        process.start(Path::new("sleep"), &["600".to_owned()]).unwrap();
        process
    }

    fn until(what: &str, mut holds: impl FnMut() -> bool) {
        let began = Instant::now();
        while !holds() {
            assert!(began.elapsed() < LONG, "still not: {what}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_process_runs_until_it_is_killed() {
        let leash = Leash::on_new_folder("godwit-test-").unwrap();
        let process = sleeper(leash.folder());
        assert!(process.is_running());
        process.signal(Signal::STOP).unwrap();
        assert!(process.is_running());
        process.kill().unwrap();
        assert!(!process.is_running());
        process.start(Path::new("sleep"), &["600".to_owned()]).unwrap();
        assert!(process.is_running());
    }

    #[test]
    fn a_released_leash_ends_the_process_and_removes_the_folder() {
        let leash = Leash::on_new_folder("godwit-test-").unwrap();
        let folder = leash.folder().to_owned();
        let log = File::open(sleeper(&folder).log_path()).unwrap();
        assert!(is_locked(&log));
        drop(leash);
        until("dead", || !is_locked(&log));
        assert!(!folder.exists());
    }

    #[test]
    fn without_a_leash_a_process_stays() {
        let folder = tempfile::tempdir().unwrap();
        let process = sleeper(folder.path());
        std::thread::sleep(Duration::from_millis(200));
        assert!(process.is_running());
        process.kill().unwrap();
    }

    #[test]
    fn a_process_that_exits_at_once_is_reported_with_its_log() {
        let folder = tempfile::tempdir().unwrap();
        let process = Process::new("sh".to_owned(), folder.path().to_owned(), folder.path());
        process.start(Path::new("sh"), &["-c".to_owned(), "echo no memory".to_owned()]).unwrap();
        let error = process.wait_for("up", LONG, |log| log.contains("ready")).unwrap_err();
        assert_eq!(error.to_string(), "sh ended before it was up. The end of its log:\nno memory");
    }

    /// The owner must be another process, because it is killed. It runs the next test alone.
    #[test]
    fn processes_end_with_an_owner_that_is_killed() {
        let told = tempfile::NamedTempFile::new().unwrap();
        let mut owner = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "process::tests::owner", "--ignored"])
            .env(TELL, told.path())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut text = String::new();
        until("started", || {
            text = fs::read_to_string(told.path()).unwrap();
            text.ends_with('\n')
        });
        let folder = Path::new(text.trim());
        let log = File::open(folder.join(LOG)).unwrap();
        assert!(is_locked(&log));
        owner.kill().unwrap();
        owner.wait().unwrap();
        until("dead", || !is_locked(&log));
        until("removed", || !folder.exists());
    }

    #[test]
    #[ignore = "run by the test above, as another process"]
    fn owner() {
        let Some(tell) = std::env::var_os(TELL) else { return };
        let leash = Leash::on_new_folder("godwit-test-").unwrap();
        sleeper(leash.folder());
        fs::write(tell, format!("{}\n", leash.folder().display())).unwrap();
        std::thread::sleep(Duration::from_secs(600));
    }
}
