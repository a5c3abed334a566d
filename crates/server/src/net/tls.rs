//! Certificates and keys for TLS, from files.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::{self, PemObject};
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Error of the files for encryption.
#[derive(Debug)]
pub enum Error {
    /// A file cannot be read, or holds no PEM of the kind expected.
    File {
        /// Path of the file.
        path: PathBuf,
        /// Reason why it cannot be used.
        reason: pem::Error,
    },
    /// Others than its owner may write the file of the private key.
    Exposed {
        /// Path of the key.
        path: PathBuf,
        /// Permissions of the file.
        mode: u32,
    },
    /// The certificate or the key is unusable, or they do not belong together.
    Unusable(rustls::Error),
}

impl std::fmt::Display for Error {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { path, reason } => write!(f, "{}: {reason}", path.display()),
            Self::Exposed { path, mode } => write!(
                f,
                "{}: others may write this private key (its mode is {mode:04o}): chmod 600 it",
                path.display()
            ),
            Self::Unusable(reason) => write!(f, "certificate and key cannot be used: {reason}"),
        }
    }
}

impl std::error::Error for Error {}

/// Certificate and key of a server. They can be read again while it runs; new connections then use
/// the new ones.
#[derive(Debug)]
pub struct Certificate {
    certificates: PathBuf,
    key: PathBuf,
    current: RwLock<Arc<CertifiedKey>>,
}

impl Certificate {
    /// Reads the certificate chain (the server's own first) and the private key, two PEM files.
    ///
    /// # Errors
    /// If a file cannot be read, or the key is not that of the certificate.
    pub fn load(certificates: &Path, key: &Path) -> Result<Arc<Self>, Error> {
        let current = RwLock::new(Arc::new(read(certificates, key)?));
        Ok(Arc::new(Self { certificates: certificates.into(), key: key.into(), current }))
    }

    /// Reads the files again.
    ///
    /// # Errors
    /// As [`load`](Self::load). After an error the old ones stay.
    pub fn reload(&self) -> Result<(), Error> {
        *self.current.write() = Arc::new(read(&self.certificates, &self.key)?);
        Ok(())
    }

    /// TLS configuration of a server: versions 1.2 and 1.3, without certificates of clients.
    ///
    /// # Errors
    /// None that is known: the provider supports both versions.
    pub fn config(self: &Arc<Self>) -> Result<Arc<ServerConfig>, Error> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config =
            ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let resolver: Arc<dyn ResolvesServerCert> = self.clone();
        let config = config.map(|c| c.with_no_client_auth().with_cert_resolver(resolver));
        config.map(Arc::new).map_err(Error::Unusable)
    }
}

impl ResolvesServerCert for Certificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.current.read()))
    }
}

/// TLS configuration of a server with the files of [`Certificate::load`].
///
/// # Errors
/// As [`Certificate::load`].
pub fn load(certificates: &Path, key: &Path) -> Result<Arc<ServerConfig>, Error> {
    Certificate::load(certificates, key)?.config()
}

/// Refuses a key that others may write, and warns if others may read it. A readable key is allowed,
/// since some systems mount secrets readable for all.
#[cfg(unix)]
fn check_mode(path: &Path) -> Result<(), Error> {
    use std::os::unix::fs::PermissionsExt;

    // If the metadata cannot be read, the file cannot be read either: the next step reports it.
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    let mode = found.permissions().mode() & 0o7777;
    if mode & 0o022 != 0 {
        return Err(Error::Exposed { path: path.to_owned(), mode });
    }
    if mode & 0o004 != 0 {
        let path = path.display();
        tracing::warn!(%path, "everybody may read the private key of the certificate: chmod 600 it");
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_mode(_: &Path) -> Result<(), Error> {
    Ok(())
}

fn read(certificates: &Path, key: &Path) -> Result<CertifiedKey, Error> {
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
    check_mode(key)?;
    let key = PrivateKeyDer::from_pem_file(key).map_err(file(key))?;
    let provider = rustls::crypto::ring::default_provider();
    CertifiedKey::from_der(chain, key, &provider).map_err(Error::Unusable)
}
