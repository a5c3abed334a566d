//! Certificates and keys, from files to what rustls wants.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Why a server cannot be encrypted with these files.
#[derive(Debug)]
pub enum Error {
    /// A file cannot be read, or holds no PEM of the kind expected.
    File {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        reason: pem::Error,
    },
    /// The certificate and the key are not usable, or not together.
    Unusable(rustls::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Unusable(reason) => write!(f, "certificate and key cannot be used: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

/// Returns what a server needs to encrypt with the certificate chain (the server's own first) and
/// the private key in two PEM files: TLS 1.2 and 1.3, without certificates of clients.
///
/// # Errors
/// If a file cannot be read, or the key is not that of the certificate.
pub fn load(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, Error> {
    let file = |path: &Path| {
        let path = path.to_owned();
        move |reason| Error::File { path, reason }
    };
    let chain: Vec<_> = CertificateDer::pem_file_iter(certificates)
        .and_then(Iterator::collect)
        .map_err(file(certificates))?;
    if chain.is_empty() {
        return Err(file(certificates)(pem::Error::NoItemsFound));
    }
    let key = PrivateKeyDer::from_pem_file(key).map_err(file(key))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .and_then(|config| config.with_no_client_auth().with_single_cert(chain, key));
    config.map(Arc::new).map_err(Error::Unusable)
}
