//! Arrow IPC, as a file (which pandas calls Feather) and as a stream.
//!
//! A file is a stream between two marks, with a table of contents behind it that is not needed to
//! read it from front to back. Each message is looked at before it is decoded: the decoder would
//! take as much memory as a damaged length asks for, and end the program where there is not as
//! much.

use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::{MessageHeader, root_as_footer, root_as_message};
use telar_db::column::Column;
use telar_db::query::{QueryError, TableReader};

use crate::{failed, guarded, next_columns};

/// The first and the last bytes of a file; a stream has none.
const MAGIC: &[u8] = b"ARROW1";
/// What the mark at the begin of a file is filled up to.
const MAGIC_BYTES: u64 = 8;
/// What stands before the length of a message, but in old files.
const CONTINUATION: [u8; 4] = [0xff; 4];
/// Most bytes of a batch once it is decompressed.
const BATCH_BYTES_MAX: u64 = 1 << 30;

/// Bytes of a file, or of memory.
pub(crate) trait Source: Read + Seek + Send {}

impl<S: Read + Seek + Send> Source for S {}

/// Messages of a stream.
struct Messages {
    text: BufReader<Box<dyn Source>>,
    /// Bytes that are left of the file.
    left: u64,
    /// The schema of the table of contents, as a message: some files begin without one.
    schema: Option<Vec<u8>>,
    decoder: StreamDecoder,
    /// Bytes that are not decoded yet.
    bytes: Buffer,
    /// A batch that was decoded when the schema was.
    first: Option<RecordBatch>,
    begun: bool,
    ended: bool,
}

fn broken(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

impl Messages {
    fn new(mut source: Box<dyn Source>) -> io::Result<Self> {
        let mut left = source.seek(SeekFrom::End(0))?;
        source.rewind()?;
        let mut text = BufReader::new(source);
        let mut schema = None;
        if text.fill_buf()?.starts_with(MAGIC) {
            let mut end = [0; MAGIC.len()];
            let back = text.seek(SeekFrom::End(-(MAGIC.len() as i64)));
            back.and_then(|_| text.read_exact(&mut end))?;
            if end != *MAGIC || left < 2 * MAGIC_BYTES {
                return Err(broken("the file is cut off"));
            }
            schema = footer(&mut text, left)?.as_deref().and_then(schema_message);
            text.seek(SeekFrom::Start(MAGIC_BYTES))?;
            left -= MAGIC_BYTES;
        }
        let (decoder, bytes) = (StreamDecoder::new(), Buffer::from_vec(Vec::<u8>::new()));
        let (begun, ended) = (false, false);
        Ok(Self { text, left, schema, decoder, bytes, first: None, begun, ended })
    }

    fn take(&mut self, bytes: u64, into: &mut Vec<u8>) -> io::Result<()> {
        if bytes > self.left {
            return Err(broken("the file is cut off"));
        }
        self.left -= bytes;
        let read = Read::by_ref(&mut self.text).take(bytes).read_to_end(into)?;
        if read as u64 == bytes { Ok(()) } else { Err(broken("the file is cut off")) }
    }

    /// The bytes of the next message, none at the end of the stream.
    fn message(&mut self) -> io::Result<Option<Vec<u8>>> {
        if self.left == 0 {
            return Ok(self.schema.take());
        }
        let mut all = Vec::new();
        self.take(4, &mut all)?;
        // Some writers fill the mark up to more bytes.
        while !self.begun && all == [0; 4] {
            all.clear();
            self.take(4, &mut all)?;
        }
        self.begun = true;
        if all == CONTINUATION {
            self.take(4, &mut all)?;
        }
        let mut length = [0; 4];
        length.copy_from_slice(&all[all.len() - 4..]);
        let begin = all.len();
        match u32::from_le_bytes(length) {
            0 => {
                self.left = 0;
                return Ok(self.schema.take());
            }
            length => self.take(u64::from(length), &mut all)?,
        }
        let message = root_as_message(&all[begin..]).map_err(|e| broken(e.to_string()))?;
        let message_type = message.header_type();
        let body = u64::try_from(message.bodyLength()).map_err(|_| broken("a negative length"))?;
        let end = all.len();
        self.take(body, &mut all)?;
        let schema = self.schema.take().filter(|_| message_type != MessageHeader::Schema);
        let (header, body) = all.split_at(end);
        check(&header[begin..], body)?;
        Ok(Some(match schema {
            Some(schema) => [schema, all].concat(),
            None => all,
        }))
    }

    /// Decodes messages up to the next batch, or, before there is a schema, up to that.
    fn next(&mut self, name: &str) -> Result<Option<RecordBatch>, QueryError> {
        if let Some(batch) = self.first.take() {
            return Ok(Some(batch));
        }
        let had_schema = self.decoder.schema().is_some();
        loop {
            if self.bytes.is_empty() && self.ended {
                return Ok(None);
            }
            if self.bytes.is_empty() {
                let message = self.message().map_err(|e| failed(name, e))?;
                self.ended = message.is_none();
                // What has no body is decoded when something follows it.
                let end = || [CONTINUATION, [0; 4]].concat();
                self.bytes = Buffer::from_vec(message.unwrap_or_else(end));
            }
            let batch = self.decoder.decode(&mut self.bytes).map_err(|e| failed(name, e))?;
            if batch.is_some() || (!had_schema && self.decoder.schema().is_some()) {
                return Ok(batch);
            }
        }
    }
}

/// The table of contents at the end of a file.
fn footer(file: &mut (impl Read + Seek), file_bytes: u64) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    let end = (MAGIC.len() + length.len()) as u64;
    file.seek(SeekFrom::End(-end.cast_signed()))?;
    file.read_exact(&mut length)?;
    let length = u64::from(u32::from_le_bytes(length));
    if length > file_bytes - end {
        return Ok(None);
    }
    file.seek(SeekFrom::End(-(end + length).cast_signed()))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    Ok(Some(footer))
}

/// The schema of a table of contents as the message that a stream begins with.
///
/// The schema stays where it is. A table that refers to it is put before it: what is within a
/// buffer of this kind is found relative to itself.
///
/// ```text
///   0  where the table is: 16          16  table: 12 back to its places
///   4  places: 12 bytes, a table of    20  where the schema is, from here
///      20, version at 16, type at      24  bytes of the body: 0
///      18, schema at 4, body at 8      32  version u16, type u8, zeros up to 40
/// ```
fn schema_message(footer: &[u8]) -> Option<Vec<u8>> {
    const BEFORE: usize = 40;
    const SCHEMA_AT: usize = 20;
    let parsed = root_as_footer(footer).ok()?;
    let place = u32::try_from(BEFORE + parsed.schema()?._tab.loc() - SCHEMA_AT).ok()?;
    let mut message = Vec::with_capacity(BEFORE + footer.len());
    message.extend(16_u32.to_le_bytes());
    message.extend([12_u16, 20, 16, 18, 4, 8].iter().flat_map(|place| place.to_le_bytes()));
    message.extend(12_u32.to_le_bytes());
    message.extend(place.to_le_bytes());
    message.extend(0_u64.to_le_bytes());
    message.extend(parsed.version().0.to_le_bytes());
    message.push(MessageHeader::Schema.0);
    message.resize(BEFORE, 0);
    message.extend(footer);
    message.resize(message.len().next_multiple_of(8), 0);
    root_as_message(&message).ok()?;
    let length = u32::try_from(message.len()).ok()?.to_le_bytes();
    Some([&CONTINUATION[..], &length, &message].concat())
}

/// Refuses a batch whose buffers are not in its body, or are too large once they are decompressed.
fn check(header: &[u8], body: &[u8]) -> io::Result<()> {
    let message = root_as_message(header).map_err(|e| broken(e.to_string()))?;
    let batch = match message.header_type() {
        MessageHeader::RecordBatch => message.header_as_record_batch(),
        MessageHeader::DictionaryBatch => {
            message.header_as_dictionary_batch().and_then(|dictionary| dictionary.data())
        }
        _ => None,
    };
    let Some(batch) = batch else { return Ok(()) };
    let compressed = batch.compression().is_some();
    let mut sum = 0;
    for buffer in batch.buffers().into_iter().flatten() {
        let (from, length) = (buffer.offset(), buffer.length());
        let part = usize::try_from(from).ok().zip(usize::try_from(length).ok());
        let part = part.and_then(|(from, length)| body.get(from..from.checked_add(length)?));
        let part = part.ok_or_else(|| broken("a column is not where the file says"))?;
        let bytes = match part.first_chunk::<8>() {
            Some(length) if compressed => u64::try_from(i64::from_le_bytes(*length)),
            _ => Ok(part.len() as u64),
        };
        // A negative length says that it is not compressed.
        sum += bytes.unwrap_or(part.len() as u64).min(BATCH_BYTES_MAX + 1);
        if sum > BATCH_BYTES_MAX {
            let text = format!("a batch of more than {BATCH_BYTES_MAX} bytes; write smaller ones");
            return Err(broken(text));
        }
    }
    Ok(())
}

/// Reads a file of Arrow IPC.
pub(crate) struct IpcReader {
    name: Arc<str>,
    names: Vec<Arc<str>>,
    messages: Messages,
    /// Rows so far.
    rows: usize,
}

impl IpcReader {
    pub(crate) fn new(source: impl Source + 'static, name: &str) -> Result<Self, QueryError> {
        guarded(name, || {
            let mut messages = Messages::new(Box::new(source)).map_err(|e| failed(name, e))?;
            messages.first = messages.next(name)?;
            let schema = messages.decoder.schema();
            let schema = schema.ok_or_else(|| failed(name, "the file is not Arrow IPC"))?;
            let names = schema.fields().iter().map(|field| field.name().as_str().into());
            Ok(Self { name: name.into(), names: names.collect(), messages, rows: 0 })
        })
    }
}

impl TableReader for IpcReader {
    fn names(&self) -> &[Arc<str>] {
        &self.names
    }

    fn next(&mut self) -> Result<Option<Vec<Column>>, QueryError> {
        let Self { name, rows, messages, .. } = self;
        next_columns(name, rows, |place| messages.next(place))
    }
}
