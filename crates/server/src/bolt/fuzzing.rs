//! A door for the fuzzer in `fuzz/`. Not part of the API.

use telar_db::{Value, value};

use super::chunk::{self, Input};
use super::encode::Encoder;
use super::message::Request;
use super::structure::{Decoder, Dialect};
use super::version::{self, Version};

/// Bytes that a message may have here.
const MESSAGE_BYTES_MAX: usize = 1 << 16;

/// Takes any bytes: as what follows the handshake in each version; as a handshake; as a message.
/// What is read of the parameters of a statement comes back when it is written and read again.
///
/// # Panics
/// If the code under test is wrong.
pub fn message(bytes: &[u8]) {
    for version in [Version::new(4, 3), Version::new(4, 4), Version::new(5, 8), Version::new(6, 0)]
    {
        let dialect = Dialect::of(version);
        read(bytes, version, dialect);
        let (mut input, mut message) = (Input::new(), Vec::new());
        for piece in bytes.chunks(7) {
            input.room()[..piece.len()].copy_from_slice(piece);
            input.came(piece.len());
            input.urgent();
            while let Ok(true) = input.take(&mut message, MESSAGE_BYTES_MAX) {
                read(&message, version, dialect);
                let mut framed = Vec::new();
                chunk::write(&mut framed, |out| out.extend_from_slice(&message));
                assert!(framed.len() > message.len());
            }
        }
    }
    // A peer that hears nothing is as good as any here.
    let _ = version::agree(&mut Deaf(bytes));
}

fn read(message: &[u8], version: Version, dialect: Dialect) {
    if let Ok(Request::Run(run)) = Request::read(message, version, dialect, MESSAGE_BYTES_MAX) {
        let mut first = Vec::new();
        let encoder = Encoder { dialect: Dialect { utc: true, ..dialect }, rows: None, begin: 0 };
        // Of a statement that nobody ends, and that may hold everything, every value is written.
        let parameters = Value::Map(run.parameters.clone().into());
        encoder.value(&mut first, &parameters).expect("INVARIANT: nothing is watched");
        let mut decoder = Decoder::new(&first, encoder.dialect, usize::MAX);
        let Ok(again) = decoder.value(value::NESTING_MAX + 1) else { return };
        let mut second = Vec::new();
        encoder.value(&mut second, &again).expect("INVARIANT: nothing is watched");
        assert_eq!(first, second, "{:?}", Value::Map(run.parameters.into()));
    }
}

/// Says what it has to say, whatever it is told.
struct Deaf<'b>(&'b [u8]);

impl std::io::Read for Deaf<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(into)
    }
}

impl std::io::Write for Deaf<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}
