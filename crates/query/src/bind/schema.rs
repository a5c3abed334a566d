//! Commands that make and drop indexes and constraints.

use std::sync::Arc;

use telar_cypher::ast::{
    CreateConstraint, CreateIndex, DropCommand, EntityKind, IndexTarget, Name, NameOrParameter,
    Requirement, TypeExpr,
};
use telar_graph::{ConstraintKind, IndexKind, PropertyType};

use super::Binder;
use crate::expr::Expr;
use crate::query_error::QueryError;
use crate::schema::{CreateLookup, CreateParts, CreateRule, DropRule, SchemaCommand};
use crate::value_type::ValueType;

impl Binder<'_> {
    /// A name, or the parameter that holds it.
    pub(crate) fn name_or_parameter(&mut self, name: &NameOrParameter) -> Expr {
        match name {
            NameOrParameter::Name(name) => Expr::text(&name.text),
            NameOrParameter::Parameter(name) => self.parameter(&name.text),
        }
    }

    pub(crate) fn create_index(&mut self, c: &CreateIndex) -> Result<SchemaCommand, QueryError> {
        let kind = IndexKind::named(c.kind.word());
        let name = c.name.as_ref().map(|name| self.name_or_parameter(name));
        let options = c.options.as_ref().map(|options| self.expression(options)).transpose()?;
        let if_not_exists = c.if_not_exists;
        let (entity, labels, keys) = match &c.target {
            IndexTarget::Properties { entity, labels, keys } => (entity, labels, keys),
            IndexTarget::Lookup { entity } => {
                let nodes = *entity == EntityKind::Node;
                let create = CreateLookup { name, if_not_exists, nodes, options };
                return Ok(SchemaCommand::CreateLookup(create));
            }
        };
        let kind =
            kind.expect("INVARIANT: the parser gives LOOKUP, and nothing else, such a target");
        if let (1, [_, second, ..]) = (kind.capability().properties_max, &keys[..]) {
            let of = kind.name().to_lowercase();
            let message = format!("Only single property {of} indexes are supported");
            return Err(self.syntax("UnexpectedSyntax", message, second.span));
        }
        if kind.has_settings() {
            let mut names: Vec<Arc<str>> = Vec::new();
            for label in labels {
                if names.iter().any(|name| **name == *label.text) {
                    let message = format!("`{}` is named twice", label.text);
                    return Err(self.syntax("RepeatedLabelInSchema", message, label.span));
                }
                names.push(label.text.as_ref().into());
            }
            return Ok(SchemaCommand::CreateParts(CreateParts {
                kind,
                name,
                if_not_exists,
                nodes: *entity == EntityKind::Node,
                labels: names,
                keys: self.keys(keys)?,
                filters: self.keys(&c.filters)?,
                options,
            }));
        }
        let label = labels.first().expect("INVARIANT: the parser demands a label");
        Ok(SchemaCommand::Create(CreateRule {
            name,
            if_not_exists,
            nodes: *entity == EntityKind::Node,
            label: label.text.as_ref().into(),
            keys: self.keys(keys)?,
            kind: kind.into(),
            options,
        }))
    }

    pub(crate) fn create_constraint(
        &mut self,
        c: &CreateConstraint,
    ) -> Result<SchemaCommand, QueryError> {
        let kind = match &c.requirement {
            Requirement::Unique => ConstraintKind::Unique,
            Requirement::Key => ConstraintKind::Key,
            Requirement::NotNull => ConstraintKind::Exists,
            Requirement::Typed(of) => ConstraintKind::Type(self.property_type(of)?),
        };
        if let (1, [_, second, ..]) = (kind.properties_max(), &c.keys[..]) {
            let message = "such a constraint is of one property: make one for each";
            return Err(self.syntax("UnexpectedSyntax", message, second.span));
        }
        Ok(SchemaCommand::Create(CreateRule {
            name: c.name.as_ref().map(|name| self.name_or_parameter(name)),
            if_not_exists: c.if_not_exists,
            nodes: c.entity == EntityKind::Node,
            label: c.label.text.as_ref().into(),
            keys: self.keys(&c.keys)?,
            kind: kind.into(),
            options: c.options.as_ref().map(|options| self.expression(options)).transpose()?,
        }))
    }

    pub(crate) fn drop_rule(&mut self, c: &DropCommand) -> SchemaCommand {
        SchemaCommand::Drop(DropRule {
            constraint: c.constraint,
            name: self.name_or_parameter(&c.name),
            if_exists: c.if_exists,
        })
    }

    /// Property keys, each once.
    fn keys(&self, names: &[Name]) -> Result<Vec<Arc<str>>, QueryError> {
        let mut keys: Vec<Arc<str>> = Vec::new();
        for name in names {
            if keys.iter().any(|key| **key == *name.text) {
                let message = format!("the property `{}` is named twice", name.text);
                return Err(self.syntax("RepeatedPropertyInCompositeSchema", message, name.span));
            }
            keys.push(name.text.as_ref().into());
        }
        Ok(keys)
    }

    /// The type that a constraint demands.
    fn property_type(&self, of: &TypeExpr) -> Result<PropertyType, QueryError> {
        let parsed: Result<ValueType, _> = of.span.text(self.source).parse();
        let ty = parsed.map_err(|e| self.syntax("InvalidType", format!("{e}"), of.span))?;
        if let Some(vectors) = ty.of_vectors() {
            return Ok(vectors);
        }
        if ty.to_string().starts_with("VECTOR") {
            let message = "Property type constraints for vectors need to define both coordinate \
                           type and dimension.";
            return Err(self.syntax("InvalidType", message, of.span));
        }
        let name = match ty.to_string() {
            list if list == "LIST<ANY>" => "LIST".to_owned(),
            name => name,
        };
        PropertyType::ALL.iter().copied().find(|ty| ty.name() == name).ok_or_else(|| {
            // Neo4j has lists of one type whose elements are not null, and nothing else.
            if !(name.starts_with("LIST<") && name.matches('<').count() == 1
                && name.ends_with(" NOT NULL>"))
            {
                let message = format!("a constraint cannot be of type {name}");
                return self.syntax("InvalidType", message, of.span);
            }
            let names: Vec<_> = PropertyType::ALL.iter().map(|ty| ty.name()).collect();
            let message = format!(
                "a constraint of type {name} is not supported; there are {}, VECTOR<type>(dimension) (LIST is \
                 LIST<ANY>)",
                names.join(", ")
            );
            self.unsupported(&message, of.span)
        })
    }
}
