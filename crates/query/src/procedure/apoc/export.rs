//! `apoc.export.*`: a graph, a part of it, or the rows of a query, to a file of the export folder
//! or into a column.
//!
//! - `csv`, `json`: texts of both, written here: they are APOC's own.
//! - GraphML and Cypher are written by the formats of the program (`crate::files::Files`).
//! - `target`: where the bytes go.

mod csv;
mod json;
mod target;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use telar_graph::{EdgeId, Value, ValueMap, VertexId};

use self::target::Target;
use super::args::{self, failed, flag, integer};
use super::{Mode, fields};
use crate::files::{GraphFileFormat, GraphPart, GraphWritten, SCHEMA_TEXTS};
use crate::procedure::show::Shown;
use crate::procedure::{CallContext, Procedures, known};
use crate::query_error::QueryError;
use crate::sink::{self, Sink};

/// Rows that APOC counts as a batch, unless the configuration says another number.
const BATCH: i64 = 20_000;
/// Parts of APOC's configuration that are refused, as the file would not be what was asked for.
const REFUSED: [&str; 4] = ["bulkImport", "separateFiles", "separateHeader", "useTypes"];

const COLUMNS: &str = "file STRING; source STRING; format STRING; nodes INTEGER; relationships \
                       INTEGER; properties INTEGER; time INTEGER; rows INTEGER; batchSize \
                       INTEGER; batches INTEGER; done BOOLEAN; data STRING";
const COLUMNS_OF_CYPHER: &str = "file STRING; batches INTEGER; source STRING; format STRING; \
                                 nodes INTEGER; relationships INTEGER; properties INTEGER; time \
                                 INTEGER; rows INTEGER; batchSize INTEGER; cypherStatements ANY; \
                                 nodeStatements ANY; relationshipStatements ANY; \
                                 schemaStatements ANY; cleanupStatements ANY";

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Csv,
    Json,
    Graphml,
    Cypher,
}

/// The part of the graph that is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Scope {
    All,
    Data,
    Graph,
    Query,
}

const PROCEDURES: [(Format, Scope, &str); 16] = [
    (Format::Csv, Scope::All, "Writes all nodes and relationships as CSV."),
    (Format::Csv, Scope::Data, "Writes nodes and relationships as CSV."),
    (Format::Csv, Scope::Graph, "Writes the nodes and relationships of a map as CSV."),
    (Format::Csv, Scope::Query, "Writes the rows of a query as CSV."),
    (Format::Json, Scope::All, "Writes all nodes and relationships as JSON."),
    (Format::Json, Scope::Data, "Writes nodes and relationships as JSON."),
    (Format::Json, Scope::Graph, "Writes the nodes and relationships of a map as JSON."),
    (Format::Json, Scope::Query, "Writes the rows of a query as JSON."),
    (Format::Graphml, Scope::All, "Writes all nodes and relationships as GraphML."),
    (Format::Graphml, Scope::Data, "Writes nodes and relationships as GraphML."),
    (Format::Graphml, Scope::Graph, "Writes the nodes and relationships of a map as GraphML."),
    (Format::Graphml, Scope::Query, "Writes what a query returns as GraphML."),
    (Format::Cypher, Scope::All, "Writes all nodes and relationships as a script of Cypher."),
    (Format::Cypher, Scope::Data, "Writes nodes and relationships as a script of Cypher."),
    (
        Format::Cypher,
        Scope::Graph,
        "Writes the nodes and relationships of a map as a script of Cypher.",
    ),
    (Format::Cypher, Scope::Query, "Writes what a query returns as a script of Cypher."),
];

impl Format {
    fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Json => "json",
            Self::Graphml => "graphml",
            Self::Cypher => "cypher",
        }
    }
}

impl Scope {
    fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Data => "data",
            Self::Graph => "graph",
            Self::Query => "query",
        }
    }

    /// Arguments in front of the file.
    fn arguments(self) -> &'static str {
        match self {
            Self::All => "",
            Self::Data => "nodes LIST<NODE>; rels LIST<RELATIONSHIP>; ",
            Self::Graph => "graph MAP; ",
            Self::Query => "query STRING; ",
        }
    }
}

pub(super) fn add(procedures: &mut Procedures) {
    for (format, scope, description) in PROCEDURES {
        let name: Arc<str> = format!("apoc.export.{}.{}", format.name(), scope.name()).into();
        let arguments =
            fields(&format!("{}file STRING = ''; config MAP = {{}}", scope.arguments()));
        let columns = fields(match format {
            Format::Cypher => COLUMNS_OF_CYPHER,
            _ => COLUMNS,
        });
        let called = Arc::clone(&name);
        let run = move |call: &mut CallContext<'_>, arguments: &[Value]| {
            let export = Export { name: &called, format, scope };
            Ok(known(vec![export.run(call, arguments)?]))
        };
        let shown = Shown::of(Mode::Read, description, arguments, columns, run);
        procedures.add(name, Arc::new(shown));
    }
}

/// What is written, by which procedure.
struct Export<'n> {
    name: &'n str,
    format: Format,
    scope: Scope,
}

/// Numbers that APOC shows of an export.
struct Shape {
    source: String,
    written: GraphWritten,
    rows: u64,
}

impl Export<'_> {
    fn run(&self, call: &CallContext<'_>, arguments: &[Value]) -> Result<Vec<Value>, QueryError> {
        let began = Instant::now();
        let (own, last) = arguments.split_at(arguments.len() - 2);
        let (file, config) = (&last[0], args::map(&last[1]));
        if let Some(key) = REFUSED.into_iter().find(|key| flag(&config, key, false)) {
            return Err(failed(self.name, &format!("the option '{key}' is not supported here")));
        }
        let file = match file {
            Value::String(file) if !file.is_empty() => Some(&**file),
            _ => None,
        };
        let room = |bytes| call.room(bytes, self.name);
        let mut target = Target::new(call.limits(), &room, self.name, file)?;
        let done = self.write(call, own, &config, &mut target);
        let shape = done.map_err(|error| target.refusal().unwrap_or(error))?;
        let data = target.finish()?;
        let number = |number: u64| Value::Int(number as i64);
        let file = file.map_or(Value::Null, Value::from);
        let source = Value::from(shape.source);
        let time = Value::Int(i64::try_from(began.elapsed().as_millis()).unwrap_or(i64::MAX));
        let counts = [shape.written.nodes, shape.written.relationships, shape.written.properties];
        let [nodes, relationships, properties] = counts.map(number);
        let size = match self.format {
            Format::Graphml => -1,
            _ => integer(&config, "batchSize", BATCH),
        };
        let batches = match size {
            1.. => shape.rows.div_ceil(size.unsigned_abs()),
            _ => 0,
        };
        let (rows, size, batches) = (number(shape.rows), Value::Int(size), number(batches));
        let format = Value::from(self.format.name());
        let null = || Value::Null;
        Ok(match self.format {
            Format::Cypher => vec![
                file,
                batches,
                source,
                format,
                nodes,
                relationships,
                properties,
                time,
                rows,
                size,
                data,
                null(),
                null(),
                null(),
                null(),
            ],
            _ => vec![
                file,
                source,
                format,
                nodes,
                relationships,
                properties,
                time,
                rows,
                size,
                batches,
                true.into(),
                data,
            ],
        })
    }

    fn write(
        &self,
        call: &CallContext<'_>,
        own: &[Value],
        config: &ValueMap,
        target: &mut Target<'_>,
    ) -> Result<Shape, QueryError> {
        let check = || call.check();
        let table = matches!(self.format, Format::Csv | Format::Json);
        if self.scope == Scope::Query && table {
            return self.write_rows(call, &own[0], config, target);
        }
        let (kind, part) = match self.scope {
            Scope::All => ("database", GraphPart::whole(call.graph(), &check)?),
            scope => {
                let mut found = Found::new(call);
                match scope {
                    Scope::Query => found.query(self.name, &own[0], config)?,
                    _ => own.iter().for_each(|value| found.add(value)),
                }
                let kind = match scope {
                    Scope::Query => "statement",
                    Scope::Graph => "graph",
                    _ => "data",
                };
                (kind, GraphPart::new(call.graph(), &check, found.nodes, found.edges))
            }
        };
        let written = match self.format {
            Format::Csv => csv::write_part(target, &csv::Style::of(self.name, config)?, &part)?,
            Format::Json => json::write_part(target, &json::Style::of(self.name, config)?, &part)?,
            Format::Graphml => {
                self.write_graph(call, target, GraphFileFormat::Graphml, &part, &[])?
            }
            Format::Cypher => {
                let schema = schema(call, (self.scope != Scope::All).then_some(&part))?;
                let shell = match config.get("format").unwrap_or(&Value::Null) {
                    Value::Null => true,
                    Value::String(name) if &**name == "cypher-shell" => true,
                    Value::String(name) if &**name == "plain" => false,
                    _ => return Err(failed(self.name, "format must be 'cypher-shell' or 'plain'")),
                };
                let format = GraphFileFormat::Cypher { shell };
                self.write_graph(call, target, format, &part, &schema)?
            }
        };
        let (nodes, relationships) = (written.nodes, written.relationships);
        let source = format!("{kind}: nodes({nodes}), rels({relationships})");
        Ok(Shape { source, written, rows: nodes + relationships })
    }

    fn write_graph(
        &self,
        call: &CallContext<'_>,
        target: &mut Target<'_>,
        format: GraphFileFormat,
        part: &GraphPart<'_>,
        schema: &[String],
    ) -> Result<GraphWritten, QueryError> {
        call.procedures().files.write_graph(target, self.name, format, part, schema)
    }

    /// Writes the rows of a query.
    fn write_rows(
        &self,
        call: &CallContext<'_>,
        text: &Value,
        config: &ValueMap,
        target: &mut Target<'_>,
    ) -> Result<Shape, QueryError> {
        let text = args::text(self.name, "the query", text)?;
        let parameters = args::map(config.get("params").unwrap_or(&Value::Null));
        let style = match self.format {
            Format::Csv => RowStyle::Csv(csv::Style::of(self.name, config)?),
            _ => RowStyle::Json(json::Style::of(self.name, config)?),
        };
        let (names, written, line) = (Vec::new(), GraphWritten::default(), String::new());
        let mut rows = RowsTo { target, style, names, written, rows: 0, line };
        call.query(text, &parameters, &mut rows).map_err(|e| e.within(text))?;
        if let RowStyle::Json(style) = &rows.style {
            rows.target.text(style.row_ends(rows.rows))?;
        }
        let source = format!("statement: cols({})", rows.names.len());
        Ok(Shape { source, written: rows.written, rows: rows.rows })
    }
}

enum RowStyle {
    Csv(csv::Style),
    Json(json::Style),
}

/// Rows of a query on their way to a target.
struct RowsTo<'t, 'c> {
    target: &'t mut Target<'c>,
    style: RowStyle,
    names: Vec<Arc<str>>,
    written: GraphWritten,
    rows: u64,
    line: String,
}

impl Sink for RowsTo<'_, '_> {
    fn columns(&mut self, columns: &[Arc<str>]) -> Result<(), QueryError> {
        self.names = columns.to_vec();
        match &self.style {
            RowStyle::Csv(style) => {
                let names = columns.iter().map(|name| Some(&**name));
                style.record(&mut self.line, names);
                self.target.take(&mut self.line)
            }
            RowStyle::Json(_) => Ok(()),
        }
    }

    fn rows(&mut self, rows: &sink::Rows<'_>) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            let values: Vec<Value> = (0..self.names.len()).map(|at| rows.get(row, at)).collect();
            for value in &values {
                match value {
                    Value::Vertex(_) => self.written.nodes += 1,
                    Value::Edge(_) => self.written.relationships += 1,
                    _ => self.written.properties += 1,
                }
            }
            match &self.style {
                RowStyle::Csv(style) => {
                    let texts = values.iter().map(|value| csv::text_of(value, rows).map(Some));
                    let texts = texts.collect::<Result<Vec<_>, _>>()?;
                    style.record(&mut self.line, texts.iter().map(Option::as_deref));
                }
                RowStyle::Json(style) => {
                    self.line.push_str(style.row_begins(self.rows));
                    json::write_row(&mut self.line, &self.names, &values, rows)?;
                }
            }
            self.rows += 1;
            self.target.take(&mut self.line)?;
        }
        Ok(())
    }
}

/// Nodes and relationships in values.
struct Found<'c, 'a> {
    call: &'c CallContext<'a>,
    nodes: Vec<VertexId>,
    edges: Vec<EdgeId>,
    /// True if the ends of relationships are found with them.
    ends: bool,
}

impl<'c, 'a> Found<'c, 'a> {
    fn new(call: &'c CallContext<'a>) -> Self {
        Self { call, nodes: Vec::new(), edges: Vec::new(), ends: false }
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Vertex(vertex) => self.nodes.push(*vertex),
            Value::Edge(edge) => {
                self.edges.push(**edge);
                if self.ends {
                    self.nodes.extend([edge.src, edge.dst]);
                }
            }
            Value::Path(path) => {
                self.nodes.extend(path.vertices());
                self.edges.extend(path.edges());
            }
            Value::List(list) => list.iter().for_each(|value| self.add(value)),
            Value::Map(map) => map.values().for_each(|value| self.add(value)),
            _ => {}
        }
    }

    /// All that a query returns, and the ends of its relationships.
    fn query(&mut self, name: &str, text: &Value, config: &ValueMap) -> Result<(), QueryError> {
        let text = args::text(name, "the query", text)?;
        let parameters = args::map(config.get("params").unwrap_or(&Value::Null));
        self.ends = true;
        let call = self.call;
        call.query(text, &parameters, self).map_err(|e| e.within(text))
    }
}

impl Sink for Found<'_, '_> {
    fn columns(&mut self, _: &[Arc<str>]) -> Result<(), QueryError> {
        Ok(())
    }

    fn rows(&mut self, rows: &sink::Rows<'_>) -> Result<(), QueryError> {
        for row in 0..rows.len() {
            for column in 0..rows.width() {
                self.add(&rows.get(row, column));
            }
        }
        let bytes =
            self.nodes.len() * size_of::<VertexId>() + self.edges.len() * size_of::<EdgeId>();
        self.call.room(bytes, "apoc.export")
    }
}

/// Statements that make constraints and indexes: all, or those about labels and types of a part.
fn schema(call: &CallContext<'_>, part: Option<&GraphPart<'_>>) -> Result<Vec<String>, QueryError> {
    let mut names = BTreeSet::new();
    if let Some(part) = part {
        part.nodes(|node| {
            names.extend(node.labels.iter().map(|&label| label.to_owned()));
            Ok(())
        })?;
        part.relationships(|edge| {
            names.insert(edge.ty.to_owned());
            Ok(())
        })?;
    }
    let wanted = |of: &Value| match of {
        _ if part.is_none() => true,
        Value::List(all) => {
            all.iter().any(|name| matches!(name, Value::String(name) if names.contains(&**name)))
        }
        _ => false,
    };
    let mut found = Vec::new();
    for text in SCHEMA_TEXTS {
        found.extend(call.query_rows(text, &ValueMap::new())?);
    }
    let statements = found.iter().filter(|row| wanted(&row[1])).map(|row| match &row[0] {
        Value::String(statement) => statement.to_string(),
        _ => String::new(),
    });
    Ok(statements.collect())
}
