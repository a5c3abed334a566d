//! The part of a graph that an algorithm works on, as its caller names it.

use std::collections::BTreeMap;
use std::sync::Arc;

use telar_graph::{Direction, EdgeTypeId, Graph, LabelId, PropertyKeyId, Value, ValueMap};
use telar_query::QueryError;
use telar_query::cypher::suggest::closest;

use super::config::{Config, wrong};
use super::held::{Held, HeldType, Reading, Renamed};
use super::merging::{Group, Merge, groups};

/// Directions in which relationships are followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Orientation {
    Natural,
    Reverse,
    Undirected,
}

const ORIENTATIONS: [(&str, Orientation); 3] = [
    ("NATURAL", Orientation::Natural),
    ("REVERSE", Orientation::Reverse),
    ("UNDIRECTED", Orientation::Undirected),
];

impl Orientation {
    /// The orientation of this name, in any case.
    pub(super) fn find(name: &str) -> Option<Self> {
        let found = ORIENTATIONS.iter().find(|(word, _)| word.eq_ignore_ascii_case(name));
        found.map(|(_, orientation)| *orientation)
    }

    /// Name in settings.
    pub(super) fn name(self) -> &'static str {
        ORIENTATIONS.iter().find(|(_, other)| *other == self).map_or("", |(name, _)| name)
    }
}

/// Labels, types and weight by name.
#[derive(Debug, Clone, Default)]
pub(super) struct Selection {
    /// Labels of which a node has at least one; all nodes, if there are none.
    pub(super) labels: Vec<Arc<str>>,
    /// Types, each with an orientation of its own if it has one; all types, if there are none.
    pub(super) types: Vec<(Arc<str>, Option<Orientation>)>,
    /// Orientation of the others.
    pub(super) orientation: Option<Orientation>,
    /// Property of relationships that is their weight.
    pub(super) weight: Option<Weight>,
    /// Weight of relationships that do not have it, if that property does not say; else 1.
    pub(super) default_weight: Option<f64>,
    /// Properties of relationships that the graph was projected with: a call names the one that is
    /// its weight.
    pub(super) properties: Vec<Weight>,
    /// Types whose parallel relationships become one; `*` for all types as if they were one.
    pub(super) merged: BTreeMap<Arc<str>, Merge>,
    /// Nodes, relationships and values that are not those of the database.
    pub(super) held: Held,
}

/// A property of relationships that can be the weight.
#[derive(Debug, Clone)]
pub(super) struct Weight {
    /// Its name in the graph.
    pub(super) name: Arc<str>,
    pub(super) property: Arc<str>,
    /// Weight of relationships that do not have it.
    pub(super) default: Option<f64>,
    /// Weight of parallel relationships that become one.
    pub(super) merge: Option<Merge>,
}

impl Weight {
    /// A property under its own name.
    fn plain(name: &str) -> Self {
        Self { name: name.into(), property: name.into(), default: None, merge: None }
    }
}

/// Names of what a map that chooses a graph may hold.
const KEYS: [&str; 6] =
    ["nodes", "relationships", "orientation", "weight", "defaultWeight", "pairs"];

/// Settings of a projected property.
const WEIGHT: [&str; 3] = ["property", "defaultValue", "aggregation"];

/// Settings by which a call narrows the graph down, as Neo4j's library names them.
pub(super) const NARROWING: [&str; 3] =
    ["nodeLabels", "relationshipTypes", "relationshipWeightProperty"];

/// Name of all labels, and of the type of relationships that have none, in the library.
pub(super) const ALL: &str = "__ALL__";

fn of_labels(texts: Vec<&str>) -> Vec<Arc<str>> {
    if texts.contains(&ALL) { Vec::new() } else { names(texts) }
}

fn names(texts: Vec<&str>) -> Vec<Arc<str>> {
    if texts.contains(&"*") { Vec::new() } else { texts.into_iter().map(Arc::from).collect() }
}

impl Selection {
    /// The graph that a map chooses: `{nodes: ['Person'], relationships: ['KNOWS'], weight: 'w'}`.
    pub(super) fn of_map(of: &str, map: &ValueMap) -> Result<Self, QueryError> {
        let config = Config::new(of, map, &[&KEYS])?;
        let mut selection = Self {
            labels: config.texts("nodes")?.map(names).unwrap_or_default(),
            ..Self::default()
        };
        match config.get("relationships") {
            Some(Value::Map(types)) => {
                for (name, settings) in &**types {
                    let orientation = ValueMap::from([("orientation".into(), settings.clone())]);
                    let settings = match settings {
                        Value::String(_) => Value::Map(Arc::new(orientation)),
                        other => other.clone(),
                    };
                    selection.add_type(of, name, &settings)?;
                }
            }
            _ => {
                let types = config.texts("relationships")?.map(names).unwrap_or_default();
                selection.types = types.into_iter().map(|name| (name, None)).collect();
            }
        }
        if config.get("orientation").is_some() {
            let chosen = config.choice("orientation", &ORIENTATIONS, Orientation::Natural)?;
            selection.orientation = Some(chosen);
        }
        selection.weight = config.text("weight")?.map(Weight::plain);
        if config.get("defaultWeight").is_some() {
            let default = config.float("defaultWeight", 1.0)?;
            if !default.is_finite() {
                return Err(config.out_of_range("defaultWeight", "a finite number", default));
            }
            selection.default_weight = Some(default);
        }
        match config.get("pairs") {
            None => {}
            Some(Value::List(pairs)) => selection.take_pairs(pairs)?,
            Some(_) => return Err(wrong(format!("pairs of {of} is a list of lists of two nodes"))),
        }
        Ok(selection)
    }

    /// Takes pairs `[from, to]` or `[from, to, weight]` instead of relationships.
    fn take_pairs(&mut self, pairs: &[Value]) -> Result<(), QueryError> {
        let bad = |pair: &Value| {
            let found = telar_query::literal(pair);
            wrong(format!("pairs are lists [from, to] or [from, to, weight], and {found} is none"))
        };
        let mut ends = Vec::with_capacity(pairs.len());
        let mut weights = Vec::with_capacity(pairs.len());
        for pair in pairs {
            let Value::List(entries) = pair else { return Err(bad(pair)) };
            let (from, to, weight) = match &**entries {
                [Value::Vertex(from), Value::Vertex(to)] => (from, to, 1.0),
                [Value::Vertex(from), Value::Vertex(to), Value::Float(weight)] => {
                    (from, to, *weight)
                }
                [Value::Vertex(from), Value::Vertex(to), Value::Int(weight)] => {
                    (from, to, *weight as f64)
                }
                _ => return Err(bad(pair)),
            };
            ends.push((*from, *to));
            weights.push(weight);
        }
        const WEIGHT: &str = "weight";
        let properties = vec![(WEIGHT.into(), weights)];
        let ty = HeldType { name: "".into(), undirected: false, ends, properties };
        self.held = Held { alone: true, types: vec![Arc::new(ty)], ..Held::default() };
        self.weight = Some(Weight::plain(WEIGHT));
        Ok(())
    }

    /// The graph as `gds.graph.project` takes it: a label, a list, `*` or a map for nodes, the same
    /// for relationships.
    pub(super) fn of_projection(
        of: &str,
        nodes: &Value,
        relationships: &Value,
    ) -> Result<Self, QueryError> {
        let mut selection = Self::default();
        let bad = |what: &str| {
            wrong(format!("the {what} of {of} is a name, a list of names, a map, or '*'"))
        };
        let text = |value: &Value, what: &str| match value {
            Value::String(text) => Ok(Arc::clone(text)),
            _ => Err(bad(what)),
        };
        match nodes {
            Value::String(all) if &**all == "*" => {}
            Value::String(label) => selection.labels = vec![Arc::clone(label)],
            Value::List(labels) => {
                let labels = labels.iter().map(|label| text(label, "node projection"));
                selection.labels = labels.collect::<Result<_, _>>()?;
            }
            Value::Map(labels) => {
                for (name, settings) in &**labels {
                    let label = match settings {
                        Value::Map(settings) => {
                            let config = Config::new(of, settings, &[&["label", "properties"]])?;
                            if let Some(properties) = config.get("properties") {
                                selection.add_node_properties(of, properties)?;
                            }
                            settings.get("label")
                        }
                        other => Some(other),
                    };
                    selection.labels.push(match label {
                        Some(Value::String(label)) => Arc::clone(label),
                        _ => Arc::clone(name),
                    });
                }
            }
            _ => return Err(bad("node projection")),
        }
        if selection.labels.iter().any(|label| &**label == "*") {
            selection.labels.clear();
        }
        match relationships {
            Value::String(all) if &**all == "*" => {}
            Value::String(ty) => selection.types = vec![(Arc::clone(ty), None)],
            Value::List(types) => {
                let types = types.iter().map(|ty| Ok((text(ty, "relationship projection")?, None)));
                selection.types = types.collect::<Result<_, QueryError>>()?;
            }
            Value::Map(types) => {
                for (name, settings) in &**types {
                    selection.add_type(of, name, settings)?;
                }
            }
            _ => return Err(bad("relationship projection")),
        }
        Ok(selection)
    }

    /// Adds a type as `{KNOWS: {type: 'KNOWS', orientation: 'UNDIRECTED', properties: 'w'}}` does.
    fn add_type(&mut self, of: &str, name: &Arc<str>, settings: &Value) -> Result<(), QueryError> {
        const KEYS: [&str; 5] =
            ["type", "orientation", "properties", "aggregation", "indexInverse"];
        let settings = match settings {
            Value::Map(settings) => settings,
            Value::String(ty) => {
                self.types.push((Arc::clone(ty), None));
                return Ok(());
            }
            _ => return Err(wrong(format!("settings of type {name} of {of} are a map or a type"))),
        };
        let config = Config::new(of, settings, &[&KEYS])?;
        let ty = config.text("type")?.map_or_else(|| Arc::clone(name), Arc::from);
        let orientation = match config.get("orientation") {
            None => None,
            Some(_) => Some(config.choice("orientation", &ORIENTATIONS, Orientation::Natural)?),
        };
        if let Some(merge) = Merge::of(&config)? {
            self.merged.insert(Arc::clone(&ty), merge);
        }
        if let Some(properties) = config.get("properties") {
            self.add_properties(of, properties)?;
        }
        match (&*ty, orientation) {
            ("*", orientation) => self.orientation = orientation.or(self.orientation),
            _ => self.types.push((ty, orientation)),
        }
        Ok(())
    }

    /// Adds properties of relationships, of which a call may choose one as the weight.
    pub(super) fn add_properties(
        &mut self,
        of: &str,
        properties: &Value,
    ) -> Result<(), QueryError> {
        let plain = |name: &str| Weight::plain(name);
        match properties {
            Value::Null => {}
            Value::String(name) => self.add_property(of, plain(name))?,
            Value::List(names) => {
                for name in names.iter() {
                    match name {
                        Value::String(name) => self.add_property(of, plain(name))?,
                        Value::Map(_) => self.add_properties(of, name)?,
                        _ => return Err(wrong(format!("properties of {of} are names or maps"))),
                    }
                }
            }
            Value::Map(named) => {
                for (name, settings) in &**named {
                    let mut weight = plain(name);
                    match settings {
                        Value::String(property) => weight.property = Arc::clone(property),
                        Value::Map(settings) => {
                            let config = Config::new(of, settings, &[&WEIGHT])?;
                            weight.merge = Merge::of(&config)?;
                            if let Some(property) = config.text("property")? {
                                weight.property = property.into();
                            }
                            weight.default =
                                config.given("defaultValue", |c, k| c.float(k, 1.0))?;
                            if weight.default.is_some_and(|default| !default.is_finite()) {
                                let message = format!("defaultValue of {of} is a finite number");
                                return Err(wrong(message));
                            }
                        }
                        _ => {}
                    }
                    self.add_property(of, weight)?;
                }
            }
            _ => return Err(wrong(format!("properties of {of} are a name, a list or a map"))),
        }
        Ok(())
    }

    /// Adds a property, which other types may have as well: all relationships of a graph share it,
    /// with the settings that came first.
    fn add_property(&mut self, of: &str, new: Weight) -> Result<(), QueryError> {
        let Some(known) = self.properties.iter().find(|known| known.name == new.name) else {
            self.properties.push(new);
            return Ok(());
        };
        if known.property == new.property {
            return Ok(());
        }
        let name = &new.name;
        Err(wrong(format!(
            "the relationship property {name} of {of} is {} for one type and {} for another, which \
             is not supported: give each a name of its own",
            known.property, new.property
        )))
    }

    /// Adds properties of nodes as `['age', {years: {property: 'age', defaultValue: 0}}]` does.
    pub(super) fn add_node_properties(
        &mut self,
        of: &str,
        properties: &Value,
    ) -> Result<(), QueryError> {
        let bad = || wrong(format!("node properties of {of} are a name, a list or a map"));
        match properties {
            // Under its own name it is there.
            Value::Null | Value::String(_) => {}
            Value::List(list) => {
                for one in list.iter() {
                    match one {
                        Value::List(_) => return Err(bad()),
                        one => self.add_node_properties(of, one)?,
                    }
                }
            }
            Value::Map(named) => {
                for (name, settings) in &**named {
                    let mut renamed = Renamed { property: Arc::clone(name), default: Value::Null };
                    match settings {
                        Value::String(property) => renamed.property = Arc::clone(property),
                        Value::Map(settings) => {
                            let known = ["property", "defaultValue"];
                            let config = Config::new(of, settings, &[&known])?;
                            if let Some(property) = config.text("property")? {
                                renamed.property = property.into();
                            }
                            renamed.default =
                                config.get("defaultValue").cloned().unwrap_or_default();
                        }
                        Value::Null => {}
                        _ => return Err(bad()),
                    }
                    self.held.renamed.insert(Arc::clone(name), renamed);
                }
            }
            _ => return Err(bad()),
        }
        Ok(())
    }

    /// Its labels, or `*` for all.
    pub(super) fn shown_labels(&self) -> Vec<Arc<str>> {
        if let Some(nodes) = self.held.nodes.as_ref().filter(|_| self.labels.is_empty()) {
            let labels: Vec<_> = nodes.labels.keys().cloned().collect();
            return if labels.is_empty() { vec![ALL.into()] } else { labels };
        }
        if self.labels.is_empty() { vec!["*".into()] } else { self.labels.clone() }
    }

    /// Its types with their own orientations, or `*` for all.
    pub(super) fn shown_types(&self) -> Vec<(Arc<str>, Option<Orientation>)> {
        let mut types = match self.types.is_empty() && !self.held.alone {
            true => vec![("*".into(), None)],
            false => self.types.clone(),
        };
        types.extend(self.held.types.iter().map(|ty| {
            let orientation =
                if ty.undirected { Orientation::Undirected } else { Orientation::Natural };
            (Arc::clone(&ty.name), Some(orientation))
        }));
        types
    }

    /// The same graph, narrowed down by a call's own settings.
    pub(super) fn narrowed(mut self, config: &Config<'_>) -> Result<Self, QueryError> {
        if let Some(labels) = config.texts("nodeLabels")? {
            self.narrow_labels(labels, config.of)?;
        }
        if let Some(types) = config.texts("relationshipTypes")? {
            self.narrow_types(types, config.of)?;
        }
        if let Some(name) = config.text("relationshipWeightProperty")? {
            self.weigh_by(name);
        }
        Ok(self)
    }

    /// Keeps nodes of these labels only, or all if one of them stands for all.
    pub(super) fn narrow_labels(&mut self, labels: Vec<&str>, of: &str) -> Result<(), QueryError> {
        let labels = of_labels(labels);
        let missing = labels
            .iter()
            .find(|label| !self.labels.is_empty() && !self.labels.iter().any(|of| of == *label));
        if let Some(label) = missing {
            return Err(wrong(format!("the graph of {of} has no label {label}")));
        }
        if !labels.is_empty() {
            self.labels = labels;
        }
        Ok(())
    }

    /// Keeps relationships of these types only, or all if one of them stands for all.
    pub(super) fn narrow_types(&mut self, types: Vec<&str>, of: &str) -> Result<(), QueryError> {
        let types = names(types);
        if types.is_empty() {
            return Ok(());
        }
        let any = self.types.is_empty() && !self.held.alone;
        let (held, stored): (Vec<_>, Vec<_>) =
            types.into_iter().partition(|name| self.held.of_type(name).is_some());
        for name in &stored {
            if !any && !self.types.iter().any(|(of, _)| of == name) {
                return Err(wrong(format!("the graph of {of} has no type {name}")));
            }
        }
        self.held.types.retain(|ty| held.contains(&ty.name));
        // No type would mean all of them.
        self.held.alone = stored.is_empty();
        match any {
            true => self.types = stored.into_iter().map(|ty| (ty, None)).collect(),
            false => self.types.retain(|(of, _)| stored.contains(of)),
        }
        Ok(())
    }

    /// Weighs relationships by a property, under its name in the graph.
    pub(super) fn weigh_by(&mut self, name: &str) {
        let projected = self.properties.iter().find(|weight| *weight.name == *name);
        self.weight = Some(projected.cloned().unwrap_or_else(|| Weight::plain(name)));
    }

    /// Weight and directions with which relationships that the graph holds are read.
    pub(super) fn reading(&self, both: bool) -> Reading {
        let weight =
            self.weight.as_ref().map(|weight| (Arc::clone(&weight.name), self.default_of(weight)));
        let orientation = self.orientation.unwrap_or(Orientation::Natural);
        Reading { weight, orientation, both }
    }

    /// Weight of relationships without that property.
    fn default_of(&self, weight: &Weight) -> f64 {
        weight.default.or(self.default_weight).unwrap_or(1.0)
    }

    /// Numbers for the names, in a graph. `both` follows all relationships in both directions.
    pub(super) fn resolve(&self, graph: &dyn Graph, both: bool) -> Result<Resolved, QueryError> {
        let mut labels = Vec::new();
        for name in self.labels.iter().filter(|_| self.held.nodes.is_none()) {
            let unknown = || unknown("node has the label", name, graph.label_names());
            labels.push(graph.find_label(name).ok_or_else(unknown)?);
        }
        let mut parts = Vec::new();
        let directions = |orientation: Option<Orientation>| match orientation
            .or(self.orientation)
            .unwrap_or(Orientation::Natural)
        {
            _ if both => &[Direction::Out, Direction::In][..],
            Orientation::Undirected => &[Direction::Out, Direction::In],
            Orientation::Natural => &[Direction::Out],
            Orientation::Reverse => &[Direction::In],
        };
        for (name, orientation) in &self.types {
            let unknown = || unknown("relationship has the type", name, graph.edge_type_names());
            let ty = graph.find_edge_type(name).ok_or_else(unknown)?;
            parts.extend(directions(*orientation).iter().map(|direction| (ty, *direction)));
        }
        if self.types.is_empty() && !self.held.alone {
            for (ty, name) in graph.edge_type_names().iter().enumerate() {
                if !name.is_empty() {
                    let ty = EdgeTypeId::from_raw(ty as u16);
                    parts.extend(directions(None).iter().map(|direction| (ty, *direction)));
                }
            }
        }
        let weight = match &self.weight {
            None => None,
            Some(weight) => {
                // Those that are counted have no value each.
                let counted = weight.merge == Some(Merge::Count);
                // A graph that holds all its relationships reads none of the database.
                let is_read = !counted && !self.held.alone;
                let key = graph.find_property_key(&weight.property).filter(|_| is_read);
                let held = self.held.types.iter().any(|ty| ty.values(&weight.name).is_some());
                if key.is_none() && !held && !counted {
                    let of_held = self.held.types.iter().flat_map(|ty| &ty.properties);
                    let names = match self.held.alone {
                        true => of_held.map(|(name, _)| name.to_string()).collect(),
                        false => graph.property_key_names(),
                    };
                    return Err(unknown("relationship has the property", &weight.property, names));
                }
                Some((key, Arc::clone(&weight.property), self.default_of(weight)))
            }
        };
        let groups = self.groups(graph, &parts);
        Ok(Resolved { labels, parts, groups, weight })
    }

    /// Lists that are read together.
    fn groups(&self, graph: &dyn Graph, parts: &[(EdgeTypeId, Direction)]) -> Vec<Group> {
        let names = graph.edge_type_names();
        let of_weight = self.weight.as_ref().and_then(|weight| weight.merge);
        let of_properties = self.properties.iter().any(|weight| weight.merge.is_some());
        let every = self.merged.get("*");
        let merge_of = |ty: EdgeTypeId| {
            let name = names.get(ty.get() as usize)?;
            let of_type = self.merged.get(name.as_str()).or(every).copied();
            let of_type = of_type.or(of_properties.then_some(Merge::Single));
            of_type.map(|merge| of_weight.unwrap_or(merge))
        };
        groups(parts, merge_of, every.is_some() || self.types.is_empty())
    }
}

fn unknown(what: &str, name: &str, names: Vec<String>) -> QueryError {
    let near = closest(name, names.iter().map(String::as_str).filter(|name| !name.is_empty()));
    let hint = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    wrong(format!("no {what} {name}{hint}"))
}

/// Weight of relationships: the property, if one of the database is read, its name, and the weight
/// of relationships that do not have it.
pub(super) type WeightOf = (Option<PropertyKeyId>, Arc<str>, f64);

/// A selection by numbers.
#[derive(Debug)]
pub(super) struct Resolved {
    pub(super) labels: Vec<LabelId>,
    /// Types and the directions in which they are followed.
    pub(super) parts: Vec<(EdgeTypeId, Direction)>,
    /// The same, by what is read together.
    pub(super) groups: Vec<Group>,
    pub(super) weight: Option<WeightOf>,
}
