//! Trust in servers that encrypt.

use std::path::Path;
use std::sync::Arc;

use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;

/// Lists of authorities, as systems have them.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Authorities that this machine trusts: those in the file that `SSL_CERT_FILE` names, or in the
/// system's list.
///
/// # Errors
/// If there are none, for people.
pub fn authorities() -> Result<RootCertStore, String> {
    let named = std::env::var("SSL_CERT_FILE").ok();
    let bundle = named.as_deref().or_else(|| BUNDLES.into_iter().find(|b| Path::new(b).exists()));
    let bundle =
        bundle.ok_or("this machine has no list of authorities: name one in SSL_CERT_FILE")?;
    let wrong = |e: &dyn std::fmt::Display| format!("{bundle} (SSL_CERT_FILE): {e}");
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(bundle).map_err(|e| wrong(&e))? {
        // Lists of systems hold some that nobody can use.
        let _ = roots.add(certificate.map_err(|e| wrong(&e))?);
    }
    match roots.is_empty() {
        true => Err(wrong(&"there is no certificate in it")),
        false => Ok(roots),
    }
}

/// Configuration of encrypted connections to servers for whose certificates the authorities in the
/// PEM file `ca` vouch; without a file, those that this machine trusts.
///
/// # Errors
/// If there are no such authorities, for people.
pub fn trust(ca: Option<&Path>) -> Result<Arc<ClientConfig>, String> {
    let roots = match ca {
        None => authorities()?,
        Some(path) => {
            let wrong = |e: &dyn std::fmt::Display| format!("{}: {e}", path.display());
            let mut roots = RootCertStore::empty();
            for certificate in CertificateDer::pem_file_iter(path).map_err(|e| wrong(&e))? {
                let certificate = certificate.map_err(|e| wrong(&e))?;
                roots.add(certificate).map_err(|e| wrong(&e))?;
            }
            if roots.is_empty() {
                return Err(wrong(&"there is no certificate in it"));
            }
            roots
        }
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    Ok(Arc::new(config.with_root_certificates(roots).with_no_client_auth()))
}
