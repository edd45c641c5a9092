//! Certificates for connections to Redis.

use std::path::{Path, PathBuf};
use std::{fs, io};

use redis::{ClientTlsConfig, TlsCertificates};
use thiserror::Error;

/// The trusted and own certificates.
#[derive(Debug, Clone)]
pub struct RedisTls(pub(super) TlsCertificates);

#[derive(Debug, Error)]
#[error("cannot read {}: {source}", path.display())]
pub struct TlsError {
    path: PathBuf,
    source: io::Error,
}

impl RedisTls {
    /// All files are in PEM. `ca_file` has the certificates of the authorities that sign for Redis; the default
    /// is the machine's trust store. `client` is a certificate and its key, for a Redis that authenticates
    /// clients.
    pub fn read(ca_file: Option<&Path>, client: Option<(&Path, &Path)>) -> Result<Self, TlsError> {
        let root_cert = ca_file.map(read).transpose()?;
        let client_tls = match client {
            Some((cert, key)) => Some(ClientTlsConfig { client_cert: read(cert)?, client_key: read(key)? }),
            None => None,
        };
        Ok(Self(TlsCertificates { client_tls, root_cert }))
    }
}

fn read(path: &Path) -> Result<Vec<u8>, TlsError> {
    fs::read(path).map_err(|source| TlsError { path: path.to_owned(), source })
}

/// The Redis client uses the cryptography provider of the process. If one is already installed, that one stays.
pub(super) fn provide_cryptography() {
    let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
}
