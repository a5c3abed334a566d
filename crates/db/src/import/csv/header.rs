//! The header: what each column is.
//!
//! `name:TYPE`, as neo4j-admin writes it; see docs/import.md for the list.

use super::record::Dialect;
use super::value::Kind;

/// What a column is.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Role {
    /// The vertex's id in a space; kept as a property if it has a name.
    Id { name: String, space: String, ids: Option<Ids> },
    /// More labels.
    Label,
    /// The edge's type.
    Type,
    /// Where the edge begins.
    Start { space: String },
    /// Where the edge ends.
    End { space: String },
    /// A property.
    Property { name: String, kind: Kind },
    /// Not read.
    Ignore,
}

/// What ids are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Ids {
    /// Any text; `7` and `07` are two vertices.
    #[default]
    Text,
    /// Whole numbers of 64 bits.
    Integer,
}

/// What a file describes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileKind {
    Nodes,
    Relationships,
}

/// Reads a header record.
pub(super) fn parse(record: &[u8], dialect: Dialect, kind: FileKind) -> Result<Vec<Role>, String> {
    let mut fields = Vec::new();
    let (_, read) = dialect.record(record, 0, &mut fields);
    read.map_err(|_| "a quote in the header is not closed".to_owned())?;
    let mut scratch = Vec::new();
    let mut roles = Vec::with_capacity(fields.len());
    for field in &fields {
        let bytes = field.bytes(record, dialect.quote, &mut scratch);
        let text = std::str::from_utf8(bytes).map_err(|_| "the header is not UTF-8".to_owned())?;
        roles.push(role(text.trim(), kind)?);
    }
    check(&roles, kind)?;
    Ok(roles)
}

/// Splits `base(space){options}[]` into its parts.
fn parts(text: &str) -> Result<(&str, &str, &str, bool), String> {
    let (text, array) = match text.strip_suffix("[]") {
        Some(rest) => (rest, true),
        None => (text, false),
    };
    let malformed = || format!("{text:?} is not a type: write name:TYPE, as in age:int");
    let (text, options) = match text.split_once('{') {
        Some((rest, options)) => (rest, options.strip_suffix('}').ok_or_else(malformed)?),
        None => (text, ""),
    };
    let (base, space) = match text.split_once('(') {
        Some((base, space)) => (base, space.strip_suffix(')').ok_or_else(malformed)?),
        None => (text, ""),
    };
    Ok((base.trim(), space.trim(), options.trim(), array))
}

fn ids(options: &str) -> Result<Option<Ids>, String> {
    for option in options.split(',').map(str::trim).filter(|o| !o.is_empty()) {
        let Some((key, value)) = option.split_once(':') else { continue };
        if key.trim().trim_matches('"') == "id-type" {
            return match value.trim().trim_matches('"').to_ascii_lowercase().as_str() {
                "string" => Ok(Some(Ids::Text)),
                "int" | "integer" | "long" => Ok(Some(Ids::Integer)),
                other => Err(format!("id-type {other:?} is not known: use string or long")),
            };
        }
    }
    Ok(None)
}

fn role(text: &str, file: FileKind) -> Result<Role, String> {
    let (name, ty) = match text.rsplit_once(':') {
        // The colon of an option, as in `id:ID(Person){id-type:long}`.
        Some((before, _)) if before.contains('{') => {
            let brace = before.find('{').unwrap_or(before.len());
            match before[..brace].rfind(':') {
                Some(colon) => (&text[..colon], &text[colon + 1..]),
                None => ("", text),
            }
        }
        Some(split) => split,
        None => (text, "string"),
    };
    let (base, space, options, array) = parts(ty)?;
    let space = space.to_owned();
    let role = match base.to_ascii_uppercase().as_str() {
        "ID" => Role::Id { name: name.to_owned(), space, ids: ids(options)? },
        "LABEL" => Role::Label,
        "TYPE" => Role::Type,
        "START_ID" => Role::Start { space },
        "END_ID" => Role::End { space },
        "IGNORE" => Role::Ignore,
        other => {
            let kind = Kind::of(other).ok_or_else(|| {
                format!("column {name:?} has the unknown type {base:?}; known are {}", Kind::NAMES)
            })?;
            if name.is_empty() {
                return Err(format!("a column of type {base} has no name: write name:{base}"));
            }
            let kind = if array { Kind::List(Box::new(kind)) } else { kind };
            Role::Property { name: name.to_owned(), kind }
        }
    };
    let wrong = match (&role, file) {
        (Role::Id { .. } | Role::Label, FileKind::Relationships) => Some("nodes"),
        (Role::Start { .. } | Role::End { .. } | Role::Type, FileKind::Nodes) => {
            Some("relationships")
        }
        _ => None,
    };
    match wrong {
        Some(file) => Err(format!("column {text:?} belongs in a file of {file}")),
        None => Ok(role),
    }
}

fn check(roles: &[Role], kind: FileKind) -> Result<(), String> {
    let count = |f: fn(&Role) -> bool| roles.iter().filter(|r| f(r)).count();
    let at_most_one = |n: usize, what: &str| match n {
        0 | 1 => Ok(()),
        n => Err(format!("the header has {n} columns of type {what}; there can be one")),
    };
    at_most_one(count(|r| matches!(r, Role::Id { .. })), "ID")?;
    at_most_one(count(|r| matches!(r, Role::Label)), "LABEL")?;
    at_most_one(count(|r| matches!(r, Role::Type)), "TYPE")?;
    if kind == FileKind::Relationships {
        for (n, what) in [
            (count(|r| matches!(r, Role::Start { .. })), "START_ID"),
            (count(|r| matches!(r, Role::End { .. })), "END_ID"),
        ] {
            if n != 1 {
                return Err(format!(
                    "the header has {n} columns of type {what}; there must be one, \
                     as in :START_ID,:END_ID,since:int"
                ));
            }
        }
    }
    let mut names: Vec<&str> = roles
        .iter()
        .filter_map(|r| match r {
            Role::Property { name, .. } | Role::Id { name, .. } if !name.is_empty() => Some(name),
            _ => None,
        })
        .map(String::as_str)
        .collect();
    names.sort_unstable();
    match names.windows(2).find(|w| w[0] == w[1]) {
        Some(twice) => Err(format!("the header names {:?} twice", twice[0])),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIALECT: Dialect = Dialect { delimiter: b',', quote: b'"', trim: false };

    #[test]
    fn headers_of_neo4j_are_understood() {
        let text =
            b"personId:ID(Person){id-type:long},name,born:date,tags:string[],:LABEL,x:IGNORE";
        let roles = parse(text, DIALECT, FileKind::Nodes).unwrap();
        let property = |name: &str, kind| Role::Property { name: name.to_owned(), kind };
        let id =
            Role::Id { name: "personId".into(), space: "Person".into(), ids: Some(Ids::Integer) };
        let tags = Kind::List(Box::new(Kind::Text));
        let wanted = [
            id,
            property("name", Kind::Text),
            property("born", Kind::Date),
            property("tags", tags),
            Role::Label,
            Role::Ignore,
        ];
        assert_eq!(roles, wanted);
        let text = b":START_ID(Person),:END_ID,:TYPE,since:int";
        let roles = parse(text, DIALECT, FileKind::Relationships).unwrap();
        assert_eq!(roles[0], Role::Start { space: "Person".into() });
        assert_eq!(roles[1], Role::End { space: String::new() });
    }

    #[test]
    fn wrong_headers_say_what_is_wrong() {
        for (text, kind, wanted) in [
            ("a:b", FileKind::Nodes, "unknown type \"b\""),
            (":int", FileKind::Nodes, "no name"),
            ("a,a", FileKind::Nodes, "twice"),
            (":ID,x:ID", FileKind::Nodes, "2 columns of type ID"),
            (":START_ID", FileKind::Nodes, "belongs in a file of relationships"),
            (":START_ID", FileKind::Relationships, "0 columns of type END_ID"),
            (":ID,:START_ID,:END_ID", FileKind::Relationships, "belongs in a file of nodes"),
            (":ID(a", FileKind::Nodes, "is not a type"),
            (":ID{id-type:uuid}", FileKind::Nodes, "id-type \"uuid\""),
            ("\"a", FileKind::Nodes, "not closed"),
        ] {
            let error = parse(text.as_bytes(), DIALECT, kind).unwrap_err();
            assert!(error.contains(wanted), "{text}: {error}");
        }
    }
}
