//! Opens a session, and turns errors of the driver into advice for the operator.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{CertificateError, ClientConfig, RootCertStore};
use scylla::client::session::Session;
use scylla::client::session_builder::SessionBuilder;
use scylla::errors::{
    ConnectionError, ConnectionPoolError, ConnectionSetupRequestError, ConnectionSetupRequestErrorKind,
    DbError, MetadataError, NewSessionError,
};
use thiserror::Error;

use crate::options::{Options, TlsOptions};

/// The interval of keepalive requests on an idle connection.
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
/// How long all Cassandra nodes may take to agree on a schema change. A node that missed the announcement asks
/// the others once a minute, and its first question may get no answer.
const SCHEMA_AGREEMENT_TIMEOUT: Duration = Duration::from_mins(3);

/// Why no session could be opened, and what the operator can do about it. One line each.
#[derive(Debug, Error)]
pub enum ConnectError {
    #[error(
        "no Cassandra node answers at {contact_points} ({reason}): start the cluster, or correct --store"
    )]
    Unreachable { contact_points: String, reason: String },
    #[error("cannot resolve {hosts}: correct the name in --store")]
    UnknownHost { hosts: String },
    #[error(
        "the Cassandra cluster requires a user name and password: set store.cassandra.username and \
         GODWIT_STORE__CASSANDRA__PASSWORD"
    )]
    NoCredentials,
    #[error(
        "the Cassandra cluster rejects user {username}: correct store.cassandra.username and .password \
         (or GODWIT_STORE__CASSANDRA__PASSWORD)"
    )]
    WrongCredentials { username: String },
    #[error("cannot open an encrypted connection to {contact_points} ({reason}): {advice}")]
    Encryption { contact_points: String, reason: String, advice: &'static str },
    #[error("store.cassandra.tls: {file}: {reason}", file = file.display())]
    TlsFile { file: PathBuf, reason: String },
}

/// Opens a session without a keyspace, which may not exist yet.
pub(crate) async fn connect(options: &Options) -> Result<Session, ConnectError> {
    let mut builder = SessionBuilder::new()
        .known_nodes(&options.contact_points)
        .connection_timeout(options.connect_timeout)
        .keepalive_interval(KEEPALIVE_INTERVAL)
        .keepalive_timeout(options.silence_max)
        .schema_agreement_timeout(SCHEMA_AGREEMENT_TIMEOUT)
        // The schema code waits for agreement itself, once for several changes.
        .auto_await_schema_agreement(false)
        .keyspaces_to_fetch([&options.keyspace])
        .fetch_full_schema_metadata(false);
    if let Some(tls) = &options.tls {
        builder = builder.tls_context(Some(tls_config(tls)?));
    }
    if let Some(credentials) = &options.credentials {
        builder = builder.user(&credentials.username, &credentials.password);
    }
    builder.build().await.map_err(|error| explain(options, &error))
}

/// The driver tries all contact points, and returns the error of the last one.
fn explain(options: &Options, error: &NewSessionError) -> ConnectError {
    let contact_points = options.contact_points.join(", ");
    let last_failure = match error {
        NewSessionError::FailedToResolveAnyHostname(hosts) => {
            return ConnectError::UnknownHost { hosts: hosts.join(", ") };
        }
        NewSessionError::MetadataError(MetadataError::ConnectionPoolError(ConnectionPoolError::Broken {
            last_connection_error,
            ..
        })) => last_connection_error,
        other => return ConnectError::Unreachable { contact_points, reason: other.to_string() },
    };
    if let ConnectionError::ConnectionSetupRequestError(setup) = last_failure
        && let Some(refused) = explain_setup(options, &setup.error)
    {
        return refused;
    }
    if let Some(reason) = tls_failure(last_failure) {
        let advice = match reason {
            rustls::Error::InvalidCertificate(CertificateError::UnknownIssuer) => {
                "set store.cassandra.tls.ca_file to the certificate of the authority that signed the nodes' certificates"
            }
            rustls::Error::InvalidCertificate(CertificateError::NotValidForNameContext { .. }) => {
                "each node's certificate must name the IP address of the node"
            }
            rustls::Error::InvalidMessage(_) => "if the cluster does not use TLS, remove store.cassandra.tls",
            _ => "check store.cassandra.tls and the certificates of the cluster",
        };
        return ConnectError::Encryption { contact_points, reason: reason.to_string(), advice };
    }
    // A node that expects TLS stays silent or closes the connection when the client does not use TLS.
    let is_cut_off = matches!(
        last_failure,
        ConnectionError::BrokenConnection(_)
            | ConnectionError::ConnectionSetupRequestError(ConnectionSetupRequestError {
                error: ConnectionSetupRequestErrorKind::BrokenConnection(_),
                ..
            })
    );
    if is_cut_off && options.tls.is_none() {
        let advice = "if the cluster uses TLS, set store.cassandra.tls.ca_file";
        return ConnectError::Encryption {
            contact_points,
            reason: "the node closed the connection".into(),
            advice,
        };
    }
    ConnectError::Unreachable { contact_points, reason: last_failure.to_string() }
}

fn explain_setup(options: &Options, error: &ConnectionSetupRequestErrorKind) -> Option<ConnectError> {
    match error {
        ConnectionSetupRequestErrorKind::MissingAuthentication => Some(ConnectError::NoCredentials),
        ConnectionSetupRequestErrorKind::DbError(DbError::AuthenticationError, _) => {
            let username = options.credentials.as_ref().map(|credentials| credentials.username.clone());
            Some(
                username.map_or(ConnectError::NoCredentials, |username| ConnectError::WrongCredentials {
                    username,
                }),
            )
        }
        _ => None,
    }
}

fn tls_failure(error: &ConnectionError) -> Option<&rustls::Error> {
    match error {
        ConnectionError::IoError(error) => error.get_ref()?.downcast_ref(),
        _ => None,
    }
}

fn tls_config(options: &TlsOptions) -> Result<Arc<ClientConfig>, ConnectError> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(&options.ca_file)? {
        roots.add(certificate).map_err(|error| wrong(&options.ca_file, &error))?;
    }
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = match &options.client {
        None => config.with_no_client_auth(),
        Some((certificate, key)) => {
            let chain = certificates(certificate)?;
            let key = PrivateKeyDer::from_pem_file(key).map_err(|error| wrong(key, &error))?;
            config.with_client_auth_cert(chain, key).map_err(|error| wrong(certificate, &error))?
        }
    };
    Ok(Arc::new(config))
}

fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, ConnectError> {
    let certificates: Vec<_> = CertificateDer::pem_file_iter(file)
        .and_then(Iterator::collect::<Result<_, _>>)
        .map_err(|error| wrong(file, &error))?;
    if certificates.is_empty() { Err(wrong(file, &"it has no certificate")) } else { Ok(certificates) }
}

fn wrong(file: &Path, reason: &dyn ToString) -> ConnectError {
    ConnectError::TlsFile { file: file.to_owned(), reason: reason.to_string() }
}
