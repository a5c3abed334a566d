//! Encryption towards a server: whose certificates are believed.

use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};

use super::Trust;

/// Where systems keep the certificates of the authorities that they trust.
const BUNDLES: [&str; 4] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// What encrypts connections to servers that are trusted like this.
pub(super) fn config(trust: Trust) -> Result<Arc<ClientConfig>, String> {
    let provider = Arc::new(ring::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|e| e.to_string())?;
    let config = match trust {
        Trust::Anybody => builder
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(Believer(provider)))
            .with_no_client_auth(),
        _ => builder.with_root_certificates(authorities()?).with_no_client_auth(),
    };
    Ok(Arc::new(config))
}

/// The authorities that this machine trusts, or those of the file that `SSL_CERT_FILE` names.
pub(crate) fn authorities() -> Result<RootCertStore, String> {
    let named = std::env::var("SSL_CERT_FILE").ok();
    let bundle = named.as_deref().or_else(|| BUNDLES.into_iter().find(|b| Path::new(b).exists()));
    let bundle = bundle.ok_or(
        "this machine has no list of authorities: name one in SSL_CERT_FILE, or use bolt+ssc://",
    )?;
    let wrong = |e: &dyn std::fmt::Display| format!("{bundle} (SSL_CERT_FILE): {e}");
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_file_iter(bundle).map_err(|e| wrong(&e))?;
    for certificate in certificates {
        // Lists of systems hold some that nobody can use.
        let _ = roots.add(certificate.map_err(|e| wrong(&e))?);
    }
    match roots.is_empty() {
        true => Err(wrong(&"there is no certificate in it")),
        false => Ok(roots),
    }
}

/// Believes every certificate, but not that somebody has a key who has not.
#[derive(Debug)]
struct Believer(Arc<CryptoProvider>);

impl ServerCertVerifier for Believer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
