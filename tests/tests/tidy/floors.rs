//! Floors of a crate's modules: a module uses those on the floors below its own.
//!
//! Reads texts, not types: a module uses another if product code names `crate::other`, in a path or
//! in a tree of `use`. Comments, strings and items under `#[cfg(test)]` do not count.

use std::collections::{BTreeMap, BTreeSet};

use crate::Violation;

/// The modules of a crate, from the ground up, and the arrows that still lead up.
pub(crate) struct Building {
    /// Folder of the crate's sources, with `/` at its end.
    pub(crate) root: &'static str,
    /// Modules of a floor use those of lower floors only, not each other.
    pub(crate) floors: &'static [&'static [&'static str]],
    /// Arrows from a module to one that is not below it. The list only shrinks.
    pub(crate) exceptions: &'static [(&'static str, &'static str)],
}

/// Floors of the engine. ARCHITECTURE.md has the picture.
const ENGINE: Building = Building {
    root: "crates/engine/src/",
    floors: &[
        &[
            "attachments",
            "failpoint",
            "format",
            "horizon",
            "lmdb_check",
            "packed",
            "sync",
            "table",
            "words",
        ],
        &["gate", "intents", "io", "latch", "reclaim", "role", "sample"],
        &["clock", "wal"],
        &["error"],
        &["settings", "stop"],
        &["mapped", "once"],
        &["adjacency", "store"],
        &["column"],
        &["catalog"],
        &["history"],
        &["graph"],
        &["index"],
        &["shared"],
        &["eviction"],
        &["snapshot"],
        &["checkpoint"],
        &["commit"],
        &["schema"],
        &["transaction"],
        &["bulk", "recovery", "stream"],
        &["background"],
        &["engine"],
        &["maintenance"],
    ],
    exceptions: &[],
};

/// Crates whose modules stand on floors.
/// Floors of the query crate: the stages of a query are on top of each other. ARCHITECTURE.md has
/// the picture.
pub(crate) const QUERY: Building = Building {
    root: "crates/query/src/",
    floors: &[
        &[
            "batch",
            "description",
            "error",
            "planning",
            "scratch",
            "stack",
            "tables",
            "vertices",
            "workers",
        ],
        &["budget", "entities", "query_error", "value_type"],
        &["notification", "watch"],
        &["files", "ops", "result"],
        &["aggregate", "function"],
        &["user_function"],
        &["expr", "running"],
        &["host", "schema"],
        &["administration", "procedure"],
        &["plan"],
        &["bind", "estimate", "exec"],
        &["optimize", "predicate", "sink"],
        &["query"],
    ],
    exceptions: &[
        // An error of an expression has the kind that a query's error has.
        ("error", "query_error"),
        // A query stands in an expression.
        ("expr", "plan"),
        // An operator says how many rows it makes.
        ("plan", "estimate"),
        // Procedures and commands see the statement that runs them.
        ("procedure", "exec"),
        ("schema", "exec"),
        // A host is asked whether a statement may run.
        ("host", "query"),
        // A procedure runs query texts inside of the statement that calls it.
        ("procedure", "query"),
        ("procedure", "sink"),
        ("exec", "query"),
        ("exec", "sink"),
    ],
};

/// All crates with floors.
pub(crate) const BUILDINGS: [Building; 2] = [ENGINE, QUERY];

/// Compares `files`, the path and text of each file of the crate, with its building.
pub(crate) fn check(building: &Building, files: &[(&str, String)]) -> Vec<Violation> {
    let crate_root = format!("{}lib.rs", building.root);
    let all: BTreeSet<&str> = files.iter().filter_map(|(path, _)| top(building, path)).collect();
    let code: Vec<(&str, String)> = files.iter().map(|(p, text)| (*p, product_of(text))).collect();
    let tests: BTreeSet<String> =
        files.iter().flat_map(|(p, text)| test_modules(p, text)).collect();
    let exports = code
        .iter()
        .find(|(path, _)| *path == crate_root)
        .map_or_else(BTreeMap::new, |(_, text)| exports_of(text));

    let mut violations = Vec::new();
    let mut arrows: BTreeMap<(&str, String), &str> = BTreeMap::new();
    for (path, text) in &code {
        let Some(from) = top(building, path).filter(|_| !is_test(path, &tests)) else { continue };
        for name in named_by(text) {
            let to = exports.get(&name).unwrap_or(&name);
            if !all.contains(to.as_str()) {
                let message = format!("crate::{name} is neither a module nor exported by lib.rs");
                violations.push(Violation::new(path, 0, message));
            } else if to != from {
                arrows.entry((from, to.clone())).or_insert(path);
            }
        }
    }

    let floor = |module: &str| building.floors.iter().position(|floor| floor.contains(&module));
    let product = |module: &&&str| {
        let file = format!("{}{module}.rs", building.root);
        !is_test(&file, &tests)
    };
    for module in all.iter().filter(product).filter(|module| floor(module).is_none()) {
        let message = format!("module {module} is on no floor: {ADVICE}");
        violations.push(Violation::new(&crate_root, 0, message));
    }
    for module in building.floors.iter().flat_map(|floor| *floor) {
        if !all.contains(module) {
            let message = format!("module {module} is not there any more: {ADVICE}");
            violations.push(Violation::new(&crate_root, 0, message));
        }
    }
    let is_exception = |from: &str, to: &str| building.exceptions.contains(&(from, to));
    let leads_up = |from: &str, to: &str| floor(from) <= floor(to);
    for ((from, to), path) in &arrows {
        if leads_up(from, to) && !is_exception(from, to) {
            let message = format!("module {from} uses {to}, which is not below it: {ADVICE}");
            violations.push(Violation::new(path, 0, message));
        }
    }
    for (from, to) in building.exceptions {
        if !arrows.contains_key(&(*from, (*to).to_owned())) || !leads_up(from, to) {
            let message =
                format!("{from} does not use {to} from below any more: remove the exception");
            violations.push(Violation::new(&crate_root, 0, message));
        }
    }
    violations
}

const ADVICE: &str = "the floors stand in tests/tests/tidy/floors.rs; move what is needed down, \
                      rather than adding an exception";

/// The module right below the crate that the file at `path` belongs to; `None` for its root.
fn top<'p>(building: &Building, path: &'p str) -> Option<&'p str> {
    let inside = path.strip_prefix(building.root)?;
    let (module, _) = inside.split_once(['/', '.'])?;
    (inside != "lib.rs").then_some(module)
}

/// True if the file at `path` belongs to one of these test modules.
fn is_test(path: &str, tests: &BTreeSet<String>) -> bool {
    tests.iter().any(|module| {
        path.strip_prefix(module.as_str())
            .is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    })
}

/// The modules that the file at `path` declares for tests only, as paths without `.rs`.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let stem = path.strip_suffix(".rs").unwrap_or(path);
    let folder = match stem.rsplit_once('/') {
        Some((folder, "lib" | "mod" | "main")) => folder,
        _ => stem,
    };
    let code = plain(text);
    let (_, tests) = split_tests(&code);
    let declared = |item: &String| {
        let declaration = item.trim_end().strip_suffix(';')?;
        let (_, name) = declaration.rsplit_once("mod ")?;
        Some(format!("{folder}/{}", name.trim()))
    };
    tests.iter().filter_map(declared).collect()
}

/// The code of `text` that is compiled into the product.
fn product_of(text: &str) -> String {
    split_tests(&plain(text)).0
}

/// `text` without its comments and the contents of its strings and characters.
fn plain(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let skipped = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |end| end + 2)
        } else if let Some(len) =
            literal(rest).filter(|_| c != 'r' || !code.ends_with(is_word_char))
        {
            code.push_str("\"\"");
            len
        } else {
            code.push(c);
            c.len_utf8()
        };
        rest = &rest[skipped..];
    }
    code
}

/// Length of the string or character literal that `text` begins with.
fn literal(text: &str) -> Option<usize> {
    let hashes = text.strip_prefix('r').map(|rest| rest.len() - rest.trim_start_matches('#').len());
    if let Some(hashes) = hashes
        && text[1 + hashes..].starts_with('"')
    {
        let end = format!("\"{}", "#".repeat(hashes));
        let begin = 2 + hashes;
        return Some(text[begin..].find(&end).map_or(text.len(), |at| begin + at + end.len()));
    }
    let mut chars = text.chars();
    match chars.next()? {
        '"' => {
            let mut escaped = false;
            let end = text[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            });
            Some(end.map_or(text.len(), |end| end + 2))
        }
        '\'' => match chars.next()? {
            // What is escaped may be a quote.
            '\\' => text.get(3..)?.find('\'').map(|end| end + 4),
            // Else a lifetime, or a label.
            c => (chars.next() == Some('\'')).then_some(2 + c.len_utf8()),
        },
        _ => None,
    }
}

/// Splits code without comments and strings into what is compiled always, and the items under a
/// `cfg` of `test`.
fn split_tests(code: &str) -> (String, Vec<String>) {
    let (mut product, mut tests) = (String::new(), Vec::new());
    let mut rest = code;
    while let Some(at) = rest.find("#[cfg(") {
        let (before, from) = rest.split_at(at);
        product.push_str(before);
        let attribute = from.find(']').map_or(from.len(), |end| end + 1);
        let condition = &from[..attribute];
        if is_for_tests(condition) {
            let len = attribute + item_length(&from[attribute..]);
            tests.push(from[attribute..len].to_owned());
            rest = &from[len..];
        } else {
            product.push_str(condition);
            rest = &from[attribute..];
        }
    }
    product.push_str(rest);
    (product, tests)
}

/// True if a `cfg` holds in tests or for fuzzing only.
fn is_for_tests(condition: &str) -> bool {
    let words: Vec<&str> = condition.split(|c| !is_word_char(c)).collect();
    !words.contains(&"not") && words.contains(&"test") || words.contains(&"fuzzing")
}

/// Length of the item, or statement, that `code` begins with, its further attributes included.
fn item_length(code: &str) -> usize {
    let mut depth = 0usize;
    for (at, c) in code.char_indices() {
        match c {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 && c == '}' {
                    return at + 1;
                }
            }
            ';' | ',' if depth == 0 => return at + 1,
            _ => {}
        }
    }
    code.len()
}

/// Names right below `crate` in `code`.
fn named_by(code: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for (at, path) in code.match_indices("crate::") {
        if code[..at].ends_with(|c| is_word_char(c) || c == '$') {
            continue;
        }
        let after = &code[at + path.len()..];
        match after.strip_prefix('{') {
            Some(tree) => names.extend(branches(tree)),
            None => names.extend(word(after)),
        }
    }
    names
}

/// The first names of the branches of a `use` tree, up to the brace that ends it.
fn branches(tree: &str) -> Vec<String> {
    let mut names = Vec::new();
    let (mut depth, mut begins) = (0usize, true);
    for (at, c) in tree.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => begins = true,
            c if begins && is_word_char(c) => {
                names.extend(word(&tree[at..]));
                begins = false;
            }
            _ => {}
        }
    }
    names
}

/// Names that `lib.rs` exports, with the module that each comes from.
fn exports_of(lib: &str) -> BTreeMap<String, String> {
    let mut exports = BTreeMap::new();
    for statement in lib.split(';').filter_map(|s| s.split_once("pub use ").map(|(_, tree)| tree)) {
        let Some(module) = word(statement) else { continue };
        // Each word but `as` and the segments of paths; more than are exported do no harm.
        for name in statement.split(|c| !is_word_char(c)).filter(|name| !name.is_empty()) {
            if name != module {
                exports.insert(name.to_owned(), module.clone());
            }
        }
    }
    exports
}

fn word(text: &str) -> Option<String> {
    let word: String = text.chars().take_while(|c| is_word_char(*c)).collect();
    (!word.is_empty()).then_some(word)
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUSE: Building = Building {
        root: "house/src/",
        floors: &[&["stone"], &["wall", "door"], &["roof"]],
        exceptions: &[("stone", "roof")],
    };

    /// Reports on a house with these files.
    fn reported(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> = files.iter().map(|(path, text)| (*path, (*text).to_owned())).collect();
        check(&HOUSE, &files).into_iter().map(|v| format!("{}: {}", v.path, v.message)).collect()
    }

    const LIB: (&str, &str) = ("house/src/lib.rs", "mod stone; pub use roof::{Roof, tile::Tile};");
    const STONE: (&str, &str) = ("house/src/stone.rs", "use crate::roof::Weight;");
    const WALL: (&str, &str) = ("house/src/wall/mod.rs", "use crate::stone;");
    const DOOR: (&str, &str) = ("house/src/door.rs", "");
    const ROOF: (&str, &str) =
        ("house/src/roof.rs", "use crate::{wall::Wall, door::{self, Door}};");

    #[test]
    fn arrows_down_and_exceptions_are_fine() {
        assert_eq!(reported(&[LIB, STONE, WALL, DOOR, ROOF]), Vec::<String>::new());
    }

    #[test]
    fn check_reports_arrows_up_and_aside_in_every_form() {
        for text in [
            "use crate::roof;",
            "use crate::{stone::{Stone, Sand}, roof::Weight};",
            "fn f() { crate::roof::thatch() }",
            "fn f(_: crate::Tile) {}",
            "#[cfg(not(test))]\nuse crate::door::Door;",
            "#[cfg(test)]\nfn f() { let s = \"}\"; }\nuse crate::door::Door;",
            "const C: char = '\"'; use crate::door; const D: char = '\\'';",
        ] {
            let found = reported(&[LIB, STONE, ("house/src/wall/brick.rs", text), DOOR, ROOF]);
            assert_eq!(found.len(), 1, "{text}: {found:?}");
            assert!(
                found[0].starts_with("house/src/wall/brick.rs: module wall uses "),
                "{found:?}"
            );
        }
    }

    #[test]
    fn check_passes_over_comments_strings_and_tests() {
        for text in [
            "//! As [`crate::roof`].\n// crate::roof\n/* crate::roof */",
            "const S: &str = \"crate::roof\"; const R: &str = r#\"\" crate::roof\"#;",
            "#[cfg(test)]\n#[expect(unused)]\nmod tests { use crate::roof; fn f() { {} } }",
            "#[cfg(all(test, feature = \"x\"))]\nuse crate::roof;",
            "fn f<'a>(_: &'a str) {} use super::roof::local;",
        ] {
            let wall = ("house/src/wall/mod.rs", text);
            assert_eq!(reported(&[LIB, STONE, wall, DOOR, ROOF]), Vec::<String>::new(), "{text}");
        }
        let declares = ("house/src/wall/mod.rs", "#[cfg(test)]\nmod plumb;\nmod brick;");
        let test = ("house/src/wall/plumb.rs", "use crate::roof;");
        assert_eq!(reported(&[LIB, STONE, declares, test, DOOR, ROOF]), Vec::<String>::new());
    }

    #[test]
    fn check_reports_exceptions_that_are_not_needed_any_more() {
        let found = reported(&[LIB, ("house/src/stone.rs", ""), WALL, DOOR, ROOF]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("remove the exception"), "{found:?}");
    }

    #[test]
    fn check_reports_modules_that_are_on_no_floor_or_gone() {
        let shed = ("house/src/shed.rs", "");
        let found = reported(&[LIB, STONE, WALL, ROOF, shed]);
        assert!(found.iter().any(|v| v.contains("module shed is on no floor")), "{found:?}");
        assert!(found.iter().any(|v| v.contains("module door is not there")), "{found:?}");
        let lib = ("house/src/lib.rs", "#[cfg(any(fuzzing, all(test, unix)))]\nmod shed;");
        let found = reported(&[lib, STONE, WALL, DOOR, ROOF, shed]);
        assert_eq!(found, Vec::<String>::new(), "for tests alone");
    }

    #[test]
    fn check_reports_names_of_which_it_cannot_tell_the_module() {
        let found = reported(&[LIB, STONE, ("house/src/door.rs", "use crate::Gate;"), WALL, ROOF]);
        assert_eq!(found.len(), 1);
        assert!(found[0].contains("crate::Gate is neither"), "{found:?}");
    }
}
