//! The sections of the configuration, each setting with its comment.
//!
//! The doc comments of the fields are the single source: rustdoc shows them, and `godwit config print` writes them above
//! each setting. A section is defined inside [`settings!`], which does not compile if a field has no doc comment.

use super::{
    AuthConfig, CassandraConfig, ClusterConfig, Config, EmbeddedConfig, GroupConfig, LogConfig,
    MessageConfig, MetricsConfig, ServerConfig, SocketConfig, StoreConfig, cassandra, cluster,
};
use crate::admission::AdmissionConfig;
use crate::auth::{ApplicationConfig, ClaimNames, PasswordConfig, TokenConfig};
use crate::rate::RateConfig;

/// A setting, or a nested section.
#[derive(Debug)]
pub struct Setting {
    pub key: &'static str,
    /// The doc comment of its field.
    pub comment: &'static str,
}

/// A struct of settings.
pub trait Section {
    /// In the order of the struct.
    const SETTINGS: &'static [Setting];
}

/// Defines a section, and keeps the doc comments of its fields.
macro_rules! settings {
    (
        $(#[$meta:meta])*
        pub struct $name:ident {
            $( $(#[doc = $doc:literal])+ pub $field:ident: $type:ty, )+
        }
    ) => {
        $(#[$meta])*
        pub struct $name {
            $( $(#[doc = $doc])+ pub $field: $type, )+
        }

        impl $crate::config::settings::Section for $name {
            const SETTINGS: &'static [$crate::config::settings::Setting] = &[
                $( $crate::config::settings::Setting { key: stringify!($field), comment: concat!($($doc),+) }, )+
            ];
        }
    };
}
pub(crate) use settings;

/// The paths of all sections with settings, in the order of the file.
pub const SECTIONS: &[(&str, &[Setting])] = &[
    ("server", ServerConfig::SETTINGS),
    ("store", StoreConfig::SETTINGS),
    ("store.embedded", EmbeddedConfig::SETTINGS),
    ("store.cassandra", CassandraConfig::SETTINGS),
    ("store.cassandra.consistency", cassandra::ConsistencyConfig::SETTINGS),
    ("store.cassandra.tls", cassandra::CassandraTls::SETTINGS),
    ("cluster", ClusterConfig::SETTINGS),
    ("cluster.redis_tls", cluster::RedisTlsConfig::SETTINGS),
    ("auth", AuthConfig::SETTINGS),
    ("auth.passwords", PasswordConfig::SETTINGS),
    ("auth.tokens", TokenConfig::SETTINGS),
    ("auth.application", ApplicationConfig::SETTINGS),
    ("auth.application.claims", ClaimNames::SETTINGS),
    ("messages", MessageConfig::SETTINGS),
    ("groups", GroupConfig::SETTINGS),
    ("rates", RateConfig::SETTINGS),
    ("admission", AdmissionConfig::SETTINGS),
    ("socket", SocketConfig::SETTINGS),
    ("metrics", MetricsConfig::SETTINGS),
    ("log", LogConfig::SETTINGS),
];

/// The comment of a section: the doc comment of its field in the parent section.
pub fn section_comment(path: &str) -> Option<&'static str> {
    let (settings, key) = match path.rsplit_once('.') {
        Some((outer, key)) => (settings_of(outer)?, key),
        None => (Config::SETTINGS, path),
    };
    settings.iter().find(|setting| setting.key == key).map(|setting| setting.comment)
}

fn settings_of(path: &str) -> Option<&'static [Setting]> {
    SECTIONS.iter().find(|(section, _)| *section == path).map(|(_, settings)| *settings)
}
