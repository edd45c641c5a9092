//! `godwit transfer`.

use std::io::{IsTerminal, Write, stderr};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use godwit_transfer::{Control, Phase, Progress, Transfer, abandon};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::time::sleep;

use super::args::TransferFlags;
use crate::admin::client::AdminClient;
use crate::admin::{AdminCommand, AdminReply};
use crate::config::{Config, LogConfig, StoreLocation};
use crate::observe;
use crate::transfers::{Outcome, TransferStatus};
use crate::wiring::{OpenTransferStore, transfer_store};

/// The interval at which a running server is asked for its progress.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);
/// The interval of progress lines without a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a server may take to restart on the new store.
const RESTART_MAX: Duration = Duration::from_secs(60);
const BAR_CHARS: usize = 30;

pub(super) async fn run(config: &Config, flags: TransferFlags) -> anyhow::Result<()> {
    observe::start_log(&LogConfig { level: "warn".into(), ..config.log.clone() });
    let from = flags.from.absolute();
    let to = flags.to.map(StoreLocation::absolute);
    if to.as_ref().is_some_and(|to| from.is_same(to)) {
        bail!("{from} is both the source and the target");
    }
    if let StoreLocation::Embedded(folder) = &from {
        if !folder.exists() {
            bail!("there is no data in {}", folder.display());
        }
        let server = AdminClient::connect(folder).await;
        if let Some(server) = server.context("cannot connect to the running server")? {
            return Running { server, folder, from: &from }.run(to).await;
        }
    }
    let Some(to) = to else {
        let source = transfer_store(config, &from).await?;
        let abandoned = abandon(&*source.port(), &from.to_string()).await;
        source.close().await?;
        abandoned?;
        return say_abandoned(&from);
    };
    let source = transfer_store(config, &from).await?;
    let target = transfer_store(config, &to).await?;
    let transferred = transfer_here(&source, &target, &from, &to).await;
    target.close().await?;
    source.close().await?;
    say_transferred(&transferred?, &from, &to)
}

/// Transfers without a server.
async fn transfer_here(
    source: &OpenTransferStore,
    target: &OpenTransferStore,
    from: &StoreLocation,
    to: &StoreLocation,
) -> anyhow::Result<Progress> {
    let control = Arc::new(Control::default());
    let mut progress = control.progress();
    let (from, to) = (from.to_string(), to.to_string());
    let transfer = Transfer::new(source.port(), target.port(), from, to, control.clone());
    let mut bar = Bar::new();
    let transfer = transfer.run();
    tokio::pin!(transfer);
    let mut interrupts = interrupts()?;
    let mut asked = false;
    loop {
        tokio::select! {
            transferred = &mut transfer => {
                bar.end();
                return Ok(transferred?);
            }
            Ok(()) = progress.changed() => bar.show(*progress.borrow_and_update()),
            _ = interrupts.recv(), if !asked => {
                asked = true;
                control.stop();
            }
        }
    }
}

/// Ctrl-C from now on, also while nobody waits for it: most of the time the command waits for an answer of the server.
fn interrupts() -> anyhow::Result<Signal> {
    signal(SignalKind::interrupt()).context("cannot listen for signals")
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
            _ => bail!("the running server does not say where its data is; it may have another version"),
        }
        let Some(to) = to else {
            self.ask(AdminCommand::AbandonTransfer).await?;
            return say_abandoned(self.from);
        };
        let reply = self.ask(AdminCommand::Transfer { to: to.reveal() }).await?;
        let progress = self.watch(reply, &to).await?;
        say_transferred(&progress, self.from, &to)
    }

    /// Shows the progress until the transfer is over.
    async fn watch(&mut self, first: AdminReply, to: &StoreLocation) -> anyhow::Result<Progress> {
        let (mut bar, mut reply, mut asked) = (Bar::new(), first, false);
        let mut interrupts = interrupts()?;
        let last = loop {
            let AdminReply::Transfer(TransferStatus { progress, outcome }) = reply else {
                bail!("unexpected answer from the running server; it may have another version")
            };
            bar.show(progress);
            match outcome {
                Some(Outcome::Transferred) => break progress,
                Some(Outcome::Failed(reason)) => {
                    bar.end();
                    bail!(reason)
                }
                None => {}
            }
            tokio::select! {
                () = sleep(LOOK_INTERVAL) => {}
                _ = interrupts.recv(), if !asked => {
                    asked = true;
                    self.ask(AdminCommand::StopTransfer).await?;
                }
            }
            reply = match self.server.ask(&AdminCommand::TransferStatus).await {
                Ok(reply) => reply,
                // The server restarts on the target, unless something is wrong.
                Err(_) => break progress,
            };
        };
        bar.end();
        self.wait_until_there(to).await?;
        Ok(last)
    }

    /// Waits until the server uses the target.
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
            "the server has not restarted on {to}; check its log. No data is lost: start it with --store {to}"
        )
    }

    async fn ask(&mut self, command: AdminCommand) -> anyhow::Result<AdminReply> {
        match self.server.ask(&command).await.context("the running server does not answer")? {
            AdminReply::Refused(reason) => bail!(reason),
            reply => Ok(reply),
        }
    }
}

fn say_transferred(progress: &Progress, from: &StoreLocation, to: &StoreLocation) -> anyhow::Result<()> {
    let Progress { conversations, accounts, entries, .. } = progress;
    let mut out = std::io::stdout();
    writeln!(out, "transferred {from} to {to}")?;
    writeln!(
        out,
        "{conversations} conversations, {entries} entries, {accounts} accounts; both stores are equal"
    )?;
    Ok(writeln!(out, "start the server from now on with: godwit serve --store {to}")?)
}

fn say_abandoned(from: &StoreLocation) -> anyhow::Result<()> {
    Ok(writeln!(std::io::stdout(), "the data stays in {from}; you can delete the copy")?)
}

/// A progress line that is redrawn on a terminal; elsewhere, a new line every few seconds.
struct Bar {
    is_terminal: bool,
    began: Instant,
    /// The time and phase of the last output.
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
            "[{bar}] {:3.0} %  {}: {} of {} conversations, {} of {} accounts, {} entries ({per_second:.0}/s), {} copied again",
            progress.fraction() * 100.0,
            progress.phase,
            progress.conversations,
            progress.conversations_total,
            progress.accounts,
            progress.accounts_total,
            progress.entries,
            progress.again,
        );
        // Without stderr there is nowhere to show it.
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
