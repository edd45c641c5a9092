//! The compared messengers, and the location of their programs.

use std::env;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, ValueEnum};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, ValueEnum)]
pub(super) enum Kind {
    Godwit,
    Wukongim,
    Tinode,
    Ejabberd,
    Centrifugo,
    Relay,
}

/// Paths of programs, which replace the search for them.
#[derive(Debug, Clone, Args)]
pub(super) struct Programs {
    /// The godwit binary [default: the one beside this program]
    #[arg(long, value_name = "PATH")]
    pub(super) godwit: Option<PathBuf>,

    /// The WuKongIM binary [default: `wukongim` or `WuKongIM` on the PATH or where go installs]
    #[arg(long, value_name = "PATH")]
    wukongim: Option<PathBuf>,

    /// Tinode's server, built for PostgreSQL, with `tinode-db` beside it [default: `tinode-server` likewise]
    #[arg(long, value_name = "PATH")]
    tinode: Option<PathBuf>,

    /// The Centrifugo binary [default: `centrifugo` likewise]
    #[arg(long, value_name = "PATH")]
    centrifugo: Option<PathBuf>,

    /// The folder of PostgreSQL's programs [default: the newest in /usr/lib/postgresql, or on the PATH]
    #[arg(long, value_name = "DIR")]
    postgresql: Option<PathBuf>,
}

impl Kind {
    pub(super) const ALL: [Self; 6] =
        [Self::Godwit, Self::Wukongim, Self::Tinode, Self::Ejabberd, Self::Centrifugo, Self::Relay];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Godwit => "Godwit",
            Self::Wukongim => "WuKongIM",
            Self::Tinode => "Tinode",
            Self::Ejabberd => "ejabberd",
            Self::Centrifugo => "Centrifugo",
            Self::Relay => "bare relay",
        }
    }

    /// Whether it promises to keep acknowledged messages.
    pub(super) const fn is_durable(self) -> bool {
        match self {
            Self::Godwit | Self::Wukongim | Self::Tinode | Self::Ejabberd => true,
            Self::Centrifugo | Self::Relay => false,
        }
    }
}

impl Programs {
    pub(super) fn wukongim(&self) -> anyhow::Result<PathBuf> {
        let provided = "go install github.com/WuKongIM/WuKongIM@v2.2.5-20260422, or use --wukongim PATH";
        find(self.wukongim.as_deref(), &["wukongim", "WuKongIM"], provided)
    }

    pub(super) fn tinode(&self) -> anyhow::Result<PathBuf> {
        let provided = "go install -tags postgres github.com/tinode/chat/server@v0.25.3 \
                        github.com/tinode/chat/tinode-db@v0.25.3, and say --tinode PATH";
        find(self.tinode.as_deref(), &["tinode-server"], provided)
    }

    pub(super) fn centrifugo(&self) -> anyhow::Result<PathBuf> {
        let provided = "go install github.com/centrifugal/centrifugo/v6@latest, or use --centrifugo PATH";
        find(self.centrifugo.as_deref(), &["centrifugo"], provided)
    }

    /// The folder with `initdb` and `postgres`.
    pub(super) fn postgresql(&self) -> anyhow::Result<PathBuf> {
        let given = self.postgresql.as_ref().map(|folder| folder.join("postgres"));
        let debian = Path::new("/usr/lib/postgresql");
        let versions = debian.read_dir().into_iter().flatten().filter_map(Result::ok);
        let newest =
            versions.map(|version| version.path().join("bin/postgres")).filter(|path| path.is_file()).max();
        let found = find(
            given.or(newest).as_deref(),
            &["postgres"],
            "apt-get install postgresql, or use --postgresql DIR",
        )?;
        Ok(found.parent().map_or_else(PathBuf::new, Path::to_owned))
    }
}

/// The program at a path, or one with one of these names on the PATH or in go's folder.
pub(super) fn find(given: Option<&Path>, names: &[&str], provided: &str) -> anyhow::Result<PathBuf> {
    if let Some(path) = given {
        if !path.is_file() {
            bail!("{} does not exist: {provided}", path.display());
        }
        return Ok(path.canonicalize()?);
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let home = env::var_os("HOME").map(PathBuf::from);
    let go = [env::var_os("GOBIN").map(PathBuf::from), home.map(|home| home.join("go/bin"))];
    let folders = env::split_paths(&path).chain(go.into_iter().flatten());
    let found = folders
        .flat_map(|folder| names.iter().map(move |name| folder.join(name)))
        .find(|program| program.is_file());
    match found {
        Some(program) => Ok(program),
        None => bail!("cannot find {}: {provided}", names[0]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named_with_a_way_to_install_it() {
        let missing = find(None, &["no-such-program-anywhere"], "apt-get install it").unwrap_err();
        assert_eq!(missing.to_string(), "cannot find no-such-program-anywhere: apt-get install it");
        let given = find(Some(Path::new("/no/such")), &["sh"], "look again").unwrap_err();
        assert_eq!(given.to_string(), "/no/such does not exist: look again");
        assert!(find(None, &["no-such-program-anywhere", "sh"], "").unwrap().is_file());
    }
}
