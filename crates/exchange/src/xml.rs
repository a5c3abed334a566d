//! Elements of a file of XML, one after the other.
//!
//! Nothing is read but the file: a document type with declarations of its own is refused, so that
//! there are no entities beside those of XML, and none can grow.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use telar_db::query::QueryError;

use crate::failed;
use crate::gather::{Gathered, Properties};

/// Encodings that come out as UTF-8: what is UTF-16 was decoded before.
const ENCODINGS: [&str; 4] = ["utf-8", "utf8", "utf-16", "us-ascii"];

/// A file of XML.
pub(crate) struct Xml {
    path: String,
    reader: Reader<BufReader<Box<dyn Read + Send>>>,
    buffer: Vec<u8>,
    /// Text since the last tag.
    text: String,
}

/// A start tag.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Element {
    /// Its name without a prefix.
    pub(crate) name: String,
    attributes: Vec<(String, String)>,
}

impl Element {
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.attributes.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

/// A tag, or the end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Item {
    Open(Element),
    /// The end of an element, and the text since the last tag.
    Close(String, String),
    End,
}

impl Xml {
    pub(crate) fn open(path: &Path) -> Result<Self, QueryError> {
        let place = path.display().to_string();
        let file = File::open(path).map_err(|e| failed(&place, e))?;
        let text = telar_files::open_text(file).map_err(|e| failed(&place, e))?;
        let mut reader = Reader::from_reader(BufReader::with_capacity(1 << 16, text));
        reader.config_mut().expand_empty_elements = true;
        Ok(Self { path: place, reader, buffer: Vec::new(), text: String::new() })
    }

    /// Bytes of the text so far.
    pub(crate) fn position(&self) -> u64 {
        self.reader.buffer_position()
    }

    /// An error at a byte of the text, with its line.
    pub(crate) fn failed_at(&self, position: u64, what: impl std::fmt::Display) -> QueryError {
        let line = || -> std::io::Result<u64> {
            let text = telar_files::open_text(File::open(&self.path)?)?;
            let mut text = BufReader::new(text.take(position));
            let (mut line, mut piece) = (1, Vec::new());
            while text.read_until(b'\n', &mut piece)? > 0 {
                line += u64::from(piece.ends_with(b"\n"));
                piece.clear();
            }
            Ok(line)
        };
        match line() {
            Ok(line) => failed(&format!("{}:{line}", self.path), what),
            Err(_) => failed(&self.path, what),
        }
    }

    pub(crate) fn failed(&self, what: impl std::fmt::Display) -> QueryError {
        self.failed_at(self.position(), what)
    }

    /// The id of a node.
    pub(crate) fn id<'e>(&self, node: &'e Element) -> Result<&'e str, QueryError> {
        node.get("id").ok_or_else(|| self.failed("a node has no id"))
    }

    /// The ids of the nodes at which an edge begins and ends.
    pub(crate) fn ends<'e>(&self, edge: &'e Element) -> Result<[&'e str; 2], QueryError> {
        match (edge.get("source"), edge.get("target")) {
            (Some(source), Some(target)) => Ok([source, target]),
            _ => Err(self.failed("an edge has no source or no target")),
        }
    }

    /// Adds a node that was read to its end.
    pub(crate) fn add_node(
        &self,
        graph: &mut Gathered,
        id: &str,
        (labels, properties): (&[String], Properties),
    ) -> Result<(), QueryError> {
        match graph.node(id, labels, properties) {
            true => Ok(()),
            false => Err(self.failed(format!("another node has the id \"{id}\" already"))),
        }
    }

    /// The next start or end of an element.
    pub(crate) fn next(&mut self) -> Result<Item, QueryError> {
        loop {
            let mut buffer = std::mem::take(&mut self.buffer);
            buffer.clear();
            let step = match self.reader.read_event_into(&mut buffer) {
                Ok(event) => step(event, &mut self.text),
                Err(error) => {
                    let position = self.reader.error_position();
                    return Err(self.failed_at(position, format!("this is not XML: {error}")));
                }
            };
            self.buffer = buffer;
            match step {
                Ok(None) => {}
                Ok(Some(item)) => {
                    if let Item::Open(_) = item {
                        self.text.clear();
                    }
                    return Ok(item);
                }
                Err(what) => return Err(self.failed(what)),
            }
        }
    }

    /// Passes over the rest of an element that was opened.
    pub(crate) fn skip(&mut self) -> Result<(), QueryError> {
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Item::Open(_) => depth += 1,
                Item::Close(..) => depth -= 1,
                Item::End => return Err(self.failed("the file ends within an element")),
            }
        }
        Ok(())
    }

    /// The text of an element that was opened; that of elements within it is left out.
    pub(crate) fn rest(&mut self) -> Result<String, QueryError> {
        let mut found = String::new();
        loop {
            match self.next()? {
                Item::Open(_) => self.skip()?,
                Item::Close(_, text) => {
                    found += &text;
                    return Ok(found);
                }
                Item::End => return Err(self.failed("the file ends within an element")),
            }
        }
    }
}

fn utf8(bytes: &[u8]) -> Result<&str, String> {
    std::str::from_utf8(bytes).map_err(|_| "the text is not UTF-8".to_owned())
}

fn element(tag: &BytesStart<'_>) -> Result<Element, String> {
    let name = utf8(tag.local_name().as_ref())?.to_owned();
    let mut attributes = Vec::new();
    for attribute in tag.attributes() {
        let attribute = attribute.map_err(|e| format!("element {name}: {e}"))?;
        let value = attribute.unescape_value().map_err(|e| format!("element {name}: {e}"))?;
        let key = utf8(attribute.key.local_name().as_ref())?.to_owned();
        attributes.push((key, value.into_owned()));
    }
    Ok(Element { name, attributes })
}

/// An item of an event, or text that it adds.
fn step(event: Event<'_>, text: &mut String) -> Result<Option<Item>, String> {
    match event {
        Event::Start(tag) | Event::Empty(tag) => return element(&tag).map(Item::Open).map(Some),
        Event::End(tag) => {
            let name = utf8(tag.local_name().as_ref())?.to_owned();
            return Ok(Some(Item::Close(name, std::mem::take(text))));
        }
        Event::Eof => return Ok(Some(Item::End)),
        Event::Text(part) => *text += &part.xml_content().map_err(|e| e.to_string())?,
        Event::CData(part) => *text += &part.xml_content().map_err(|e| e.to_string())?,
        Event::GeneralRef(part) => match part.resolve_char_ref().map_err(|e| e.to_string())? {
            Some(character) => text.push(character),
            None => {
                let name = part.decode().map_err(|e| e.to_string())?;
                let known = quick_xml::escape::resolve_predefined_entity(&name);
                *text += known.ok_or_else(|| format!("there is no entity &{name};"))?;
            }
        },
        Event::DocType(part) if part.contains(&b'[') => {
            return Err("the document type declares entities or elements of its own, which are \
                        not read: remove it"
                .to_owned());
        }
        Event::Decl(part) => {
            if let Some(encoding) = part.encoding() {
                let encoding = encoding.map_err(|e| e.to_string())?;
                let encoding = utf8(&encoding)?.to_ascii_lowercase();
                if !ENCODINGS.contains(&encoding.as_str()) {
                    return Err(format!(
                        "the text is {encoding}, and UTF-8 is read here: iconv -f {encoding} -t \
                         UTF-8, without the encoding in the first line, makes it that"
                    ));
                }
            }
        }
        Event::DocType(_) | Event::Comment(_) | Event::PI(_) => {}
    }
    Ok(None)
}
