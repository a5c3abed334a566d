//! `neighbourhood`: a node, or those with a value of a property, and what is near.

use serde_json::{Map, Value as Json, json};
use telar_db::ValueMap;

use super::super::graph::Reading;
use super::expand::{Walk, number_of_node};
use super::{Arguments, Context, Failure, Tool, at_schema, parts, quoted, set};

/// Hops, unless it is said.
const HOPS: usize = 1;
/// Nodes with the value of a property that the walk begins at.
const STARTS_MAX: usize = 10;

pub(super) const TOOL: Tool = Tool {
    name: "neighbourhood",
    title: "Neighbourhood of a node",
    description: "The subgraph around a node: the nodes within some hops, the nearest first, and \
        the relationships between them. The start is an 'id' of an earlier answer, or 'label', \
        'property' and 'value' (the first 10 nodes that have it). 'at' reads the past.",
    arguments: |settings| {
        let mut arguments = Map::new();
        arguments.insert("id".into(), json!({
            "type": "string", "description": "The id of a node in an earlier answer, such as n:42",
        }));
        arguments.insert(
            "label".into(),
            json!({
                "type": "string", "description": "The label of the nodes to begin at",
            }),
        );
        arguments.insert(
            "property".into(),
            json!({
                "type": "string", "description": "The property that tells the nodes to begin at",
            }),
        );
        arguments.insert("value".into(), json!({ "description": "Its value" }));
        let walk = Walk::schemas(HOPS, settings.rows_max);
        arguments.extend(walk.map(|(name, schema)| (name.to_owned(), schema)));
        arguments.insert("at".into(), at_schema());
        (Json::Object(arguments), &[])
    },
    output: || {
        let mut schema = parts::subgraph();
        schema["properties"]["at"] = parts::at();
        schema
    },
    writes: false,
    run,
};

/// Start of the walk.
enum Start {
    Id(String),
    Property { text: String, parameters: ValueMap },
}

impl Start {
    fn read(arguments: &mut Arguments) -> Result<Self, Failure> {
        let id = arguments.text("id")?;
        let (label, property) = (arguments.text("label")?, arguments.text("property")?);
        let value = arguments.value("value")?;
        match (id, label, property, value) {
            (Some(id), None, None, None) => Ok(Self::Id(id)),
            (None, label, Some(property), Some(value)) => {
                let label = label.map_or_else(String::new, |label| format!(":{}", quoted(&label)));
                let text = format!(
                    "MATCH (n{label}) WHERE n.{} = $value RETURN id(n) LIMIT {STARTS_MAX}",
                    quoted(&property)
                );
                let parameters = ValueMap::from_iter([("value".into(), value)]);
                Ok(Self::Property { text, parameters })
            }
            _ => Err(Failure::new(
                "a start is needed: 'id', or 'property' and 'value', with 'label' to narrow them",
            )),
        }
    }

    /// The numbers of the nodes.
    fn find(&self, context: &Context<'_>, reading: &mut Reading<'_>) -> Result<Vec<i64>, Failure> {
        let (text, parameters) = match self {
            Self::Id(id) => {
                let number = number_of_node(id)
                    .ok_or_else(|| Failure::argument("id", "the id of a node, such as n:42"))?;
                let parameters = ValueMap::from_iter([("id".into(), number.into())]);
                ("MATCH (n) WHERE id(n) = $id RETURN id(n)", parameters)
            }
            Self::Property { text, parameters } => (&**text, parameters.clone()),
        };
        let rows = reading.run(text, &parameters, context.inner_room())?.rows.rows;
        let found: Vec<i64> = rows.iter().filter_map(|row| row[0].as_i64()).collect();
        match self {
            Self::Id(id) if found.is_empty() => {
                Err(Failure::new(format!("there is no node '{id}'")))
            }
            _ => Ok(found),
        }
    }
}

fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let start = Start::read(&mut arguments)?;
    let walk = Walk::read(&mut arguments, HOPS, context.settings.rows_max)?;
    let past = arguments.past()?;
    arguments.end()?;
    let mut reading = context.read(past)?;
    let starts = start.find(context, &mut reading)?;
    let mut graph = walk.expand(context, &mut reading, &starts, context.settings.chars_max)?;
    set(&mut graph, "at", reading.finish());
    Ok(graph)
}
