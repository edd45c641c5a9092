//! `godwit move`.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use godwit_transfer::{Control, Mover, Phase, Progress, abandon};
use tokio::time::sleep;

use super::args::MoveFlags;
use crate::admin::client::AdminClient;
use crate::admin::{AdminCommand, AdminReply};
use crate::config::{Config, LogConfig, StoreLocation};
use crate::moving::{MoveStatus, Outcome};
use crate::observe;
use crate::wiring::{MovableStore, movable_store};

/// How often a running server is asked how far it is.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// How often a line is written where nobody can see one change.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a server may take to go on where its data is now.
const RESTART_MAX: Duration = Duration::from_secs(60);
const BAR_CHARS: usize = 30;

pub(super) async fn run(config: &Config, flags: MoveFlags) -> anyhow::Result<()> {
    observe::start_log(&LogConfig { level: "warn".into(), ..config.log.clone() });
    let from = flags.from.absolute();
    let to = flags.to.map(StoreLocation::absolute);
    if to.as_ref().is_some_and(|to| from.is_same(to)) {
        bail!("{from} is where the data is");
    }
    if let StoreLocation::Embedded(folder) = &from {
        if !folder.exists() {
            bail!("there is no data in {}", folder.display());
        }
        let server = AdminClient::connect(folder).await;
        if let Some(server) = server.context("the running server cannot be reached")? {
            return Running { server, folder, from: &from }.run(to).await;
        }
    }
    let Some(to) = to else {
        let source = movable_store(config, &from).await?;
        let abandoned = abandon(&*source.port(), &from.to_string()).await;
        source.close().await?;
        abandoned?;
        return say_abandoned(&from);
    };
    let source = movable_store(config, &from).await?;
    let target = movable_store(config, &to).await?;
    let moved = move_here(&source, &target, &from, &to).await;
    target.close().await?;
    source.close().await?;
    say_moved(&moved?, &from, &to)
}

/// Moves without a server.
async fn move_here(
    source: &MovableStore,
    target: &MovableStore,
    from: &StoreLocation,
    to: &StoreLocation,
) -> anyhow::Result<Progress> {
    let control = Arc::new(Control::default());
    let mut progress = control.progress();
    let (from, to) = (from.to_string(), to.to_string());
    let mover = Mover::new(source.port(), target.port(), from, to, control.clone());
    let mut bar = Bar::new();
    let moving = mover.run();
    tokio::pin!(moving);
    let mut asked = false;
    loop {
        tokio::select! {
            moved = &mut moving => {
                bar.end();
                return Ok(moved?);
            }
            Ok(()) = progress.changed() => bar.show(*progress.borrow_and_update()),
            _ = tokio::signal::ctrl_c(), if !asked => {
                asked = true;
                control.stop();
            }
        }
    }
}

/// A server that has the data open.
struct Running<'a> {
    server: AdminClient,
    folder: &'a Path,
    from: &'a StoreLocation,
}

impl Running<'_> {
    async fn run(mut self, to: Option<StoreLocation>) -> anyhow::Result<()> {
        match self.ask(AdminCommand::WhichStore).await? {
            AdminReply::Store(store) if store.is_same(self.from) => {}
            AdminReply::Store(store) => {
                bail!("the server that uses {} has its data in {store}", self.folder.display())
            }
            _ => bail!("the running server does not say where its data is; it may be of another version"),
        }
        let Some(to) = to else {
            self.ask(AdminCommand::AbandonMove).await?;
            return say_abandoned(self.from);
        };
        let reply = self.ask(AdminCommand::Move { to: to.reveal() }).await?;
        let progress = self.watch(reply, &to).await?;
        say_moved(&progress, self.from, &to)
    }

    /// Shows how it goes until it is over.
    async fn watch(&mut self, first: AdminReply, to: &StoreLocation) -> anyhow::Result<Progress> {
        let (mut bar, mut reply, mut asked) = (Bar::new(), first, false);
        let last = loop {
            let AdminReply::Moving(MoveStatus { progress, outcome }) = reply else {
                bail!("the running server answers something else; it may be of another version")
            };
            bar.show(progress);
            match outcome {
                Some(Outcome::Moved) => break progress,
                Some(Outcome::Failed(reason)) => {
                    bar.end();
                    bail!(reason)
                }
                None => {}
            }
            tokio::select! {
                () = sleep(LOOK_INTERVAL) => {}
                _ = tokio::signal::ctrl_c(), if !asked => {
                    asked = true;
                    self.ask(AdminCommand::StopMove).await?;
                }
            }
            reply = match self.server.ask(&AdminCommand::MoveStatus).await {
                Ok(reply) => reply,
                // It goes on elsewhere, unless something is wrong.
                Err(_) => break progress,
            };
        };
        bar.end();
        self.wait_until_there(to).await?;
        Ok(last)
    }

    /// Waits until the server has its data there.
    async fn wait_until_there(&mut self, to: &StoreLocation) -> anyhow::Result<()> {
        let began = Instant::now();
        while began.elapsed() < RESTART_MAX {
            if let Ok(Some(mut server)) = AdminClient::connect(self.folder).await
                && let Ok(AdminReply::Store(store)) = server.ask(&AdminCommand::WhichStore).await
                && store.is_same(to)
            {
                return Ok(());
            }
            sleep(LOOK_INTERVAL).await;
        }
        bail!(
            "the server does not answer from {to}; see its log. Nothing is lost: start it with --store {to}"
        )
    }

    async fn ask(&mut self, command: AdminCommand) -> anyhow::Result<AdminReply> {
        match self.server.ask(&command).await.context("the running server does not answer")? {
            AdminReply::Refused(reason) => bail!(reason),
            reply => Ok(reply),
        }
    }
}

fn say_moved(progress: &Progress, from: &StoreLocation, to: &StoreLocation) -> anyhow::Result<()> {
    let Progress { conversations, accounts, entries, .. } = progress;
    let mut out = std::io::stdout();
    writeln!(out, "moved {from} to {to}")?;
    writeln!(
        out,
        "{conversations} conversations, {entries} entries, {accounts} accounts; the same on both sides"
    )?;
    Ok(writeln!(out, "from now on: godwit serve --store {to}")?)
}

fn say_abandoned(from: &StoreLocation) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "the data stays in {from}; what was copied can be deleted")?)
}

/// A line that changes, on a terminal; elsewhere a line now and then.
struct Bar {
    is_terminal: bool,
    began: Instant,
    /// When something was last written, and what phase it was.
    shown: Option<(Instant, Phase)>,
    first: Option<Progress>,
}

impl Bar {
    fn new() -> Self {
        Self { is_terminal: stderr().is_terminal(), began: Instant::now(), shown: None, first: None }
    }

    fn show(&mut self, progress: Progress) {
        let first = *self.first.get_or_insert(progress);
        let is_due = self.shown.is_none_or(|(at, phase)| {
            phase != progress.phase || self.is_terminal || at.elapsed() >= LINE_INTERVAL
        });
        if !is_due {
            return;
        }
        self.shown = Some((Instant::now(), progress.phase));
        let seconds = self.began.elapsed().as_secs_f64().max(0.1);
        let per_second = (progress.entries - first.entries.min(progress.entries)) as f64 / seconds;
        let filled = (progress.fraction() * BAR_CHARS as f64) as usize;
        let bar = format!("{}{}", "#".repeat(filled), ".".repeat(BAR_CHARS - filled));
        let line = format!(
            "[{bar}] {:3.0} %  {}: {} of {} conversations, {} of {} accounts, {} entries ({per_second:.0}/s), {} again",
            progress.fraction() * 100.0,
            progress.phase,
            progress.conversations,
            progress.conversations_total,
            progress.accounts,
            progress.accounts_total,
            progress.entries,
            progress.again,
        );
        // If there is no stderr there is nobody to show it to.
        let _ = if self.is_terminal {
            write!(stderr(), "\r\x1b[K{line}").and_then(|()| stderr().flush())
        } else {
            writeln!(stderr(), "{line}")
        };
    }

    fn end(&self) {
        if self.is_terminal && self.shown.is_some() {
            let _ = writeln!(stderr());
        }
    }
}
