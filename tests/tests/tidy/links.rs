//! Links and paths in Markdown documents.

use std::collections::HashMap;

use crate::Violation;

/// Folders whose paths are checked where a document names them in backticks.
const CODE_ROOTS: [&str; 5] = ["crates/", "bench/", "docs/", "tests/", "tools/"];

/// What stands at a path of the repository.
pub(crate) enum Entry {
    Folder,
    File,
    /// A Markdown document and its text.
    Document(String),
}

/// Every relative link of the document leads to a file and, behind `#`, to a heading in it; every
/// path in backticks that begins with one of [`CODE_ROOTS`] exists.
pub(crate) fn document(
    path: &str,
    text: &str,
    entry: &dyn Fn(&str) -> Option<Entry>,
) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (number, line) in prose(text) {
        for target in link_targets(line) {
            if let Err(problem) = resolve(path, text, target, entry) {
                let message = format!("link to {target}: {problem}");
                violations.push(Violation::new(path, number, message));
            }
        }
        for code in line.split('`').skip(1).step_by(2) {
            if let Some(named) = code_path(code)
                && entry(named).is_none()
            {
                violations.push(Violation::new(path, number, format!("no such path: {named}")));
            }
        }
    }
    violations
}

/// Lines outside fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// Targets of `[text](target)` and `[name]: target`, outside backticks.
fn link_targets(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    let mut rest = line;
    while let Some((before, after)) = rest.split_once("](") {
        let target = after.split([')', ' ']).next().unwrap_or_default();
        // An odd number of backticks before the link means that it stands inside code.
        let ticks = line[..line.len() - after.len()].matches('`').count();
        if ticks.is_multiple_of(2) || before.ends_with('`') {
            targets.push(target);
        }
        rest = after;
    }
    if line.starts_with('[')
        && let Some((_, target)) = line.split_once("]: ")
    {
        targets.extend(target.split_whitespace().next());
    }
    targets
}

fn resolve(
    path: &str,
    text: &str,
    target: &str,
    entry: &dyn Fn(&str) -> Option<Entry>,
) -> Result<(), String> {
    if target.contains("://") || target.starts_with("mailto:") {
        return Ok(());
    }
    let (file, anchor) = match target.split_once('#') {
        Some((file, anchor)) => (file, Some(anchor)),
        None => (target, None),
    };
    let linked = if file.is_empty() {
        Entry::Document(text.to_owned())
    } else {
        let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
        let file = join(folder, file).ok_or("leads out of the repository")?;
        entry(&file).ok_or("no such file")?
    };
    match (anchor, linked) {
        (None, _) => Ok(()),
        (Some(anchor), Entry::Document(text)) if anchors(&text).iter().any(|a| a == anchor) => {
            Ok(())
        }
        (Some(anchor), Entry::Document(_)) => Err(format!("no heading #{anchor}")),
        (Some(_), Entry::Folder | Entry::File) => Err("only documents have headings".to_owned()),
    }
}

/// `file` as seen from `folder`, without `.` and `..`; `None` above the root.
fn join(folder: &str, file: &str) -> Option<String> {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            part => parts.push(part),
        }
    }
    Some(parts.join("/"))
}

/// Anchors of the headings, as code hosts make them: lower case, punctuation dropped, blanks to
/// hyphens, repeats numbered.
fn anchors(text: &str) -> Vec<String> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let headings = prose(text).filter_map(|(_, line)| {
        let title = line.trim_start_matches('#');
        (title.len() < line.len()).then(|| title.strip_prefix(' ')).flatten()
    });
    let mut anchors = Vec::new();
    for title in headings {
        let kept = title.trim().chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        let anchor: String = kept.map(|c| if c == ' ' { '-' } else { c }).collect();
        let anchor = anchor.to_lowercase();
        let count = seen.entry(anchor.clone()).or_default();
        anchors.push(if *count == 0 { anchor } else { format!("{anchor}-{count}") });
        *count += 1;
    }
    anchors
}

/// The path that `code` names, `None` if it is something else or a pattern.
fn code_path(code: &str) -> Option<&str> {
    let named = CODE_ROOTS.iter().any(|root| code.starts_with(root));
    let pattern = code.contains(|c: char| c.is_whitespace() || "*<>{}$…".contains(c));
    // `file.rs:12` and `file.rs::item` name the file.
    let path = code.split(':').next().unwrap_or(code).trim_end_matches('/');
    (named && !pattern && !path.ends_with("..")).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(path: &str) -> Option<Entry> {
        match path {
            "docs" | "crates/db" => Some(Entry::Folder),
            "LICENSE" => Some(Entry::File),
            "docs/a.md" => Some(Entry::Document("# One thing: `x`\n\n## Two\n## Two\n".to_owned())),
            _ => None,
        }
    }

    fn problems(text: &str) -> Vec<String> {
        document("docs/b.md", text, &entry).into_iter().map(|v| v.message).collect()
    }

    #[test]
    fn links_that_lead_nowhere_are_reported() {
        assert_eq!(problems("see [x](c.md)"), ["link to c.md: no such file"]);
        assert_eq!(problems("[x](a.md#three)"), ["link to a.md#three: no heading #three"]);
        assert_eq!(problems("[x](#here)"), ["link to #here: no heading #here"]);
        assert_eq!(
            problems("[x](../LICENSE#a)"),
            ["link to ../LICENSE#a: only documents have headings"]
        );
        assert_eq!(problems("[x](../../y)"), ["link to ../../y: leads out of the repository"]);
        assert_eq!(problems("[`x`](c.md)"), ["link to c.md: no such file"]);
        assert_eq!(problems("[x]: c.md"), ["link to c.md: no such file"]);
    }

    #[test]
    fn links_that_lead_somewhere_pass() {
        let good = "# Here\n[a](a.md) [b](a.md#one-thing-x) [c](a.md#two-1) [d](#here)\n\
                    [e](../LICENSE) [f](https://example.org/x) [g](./) `[h](none.md)`\n\
                    ```\n[i](none.md) `crates/none`\n```\n";
        assert_eq!(problems(good), Vec::<String>::new());
    }

    #[test]
    fn code_paths_must_exist() {
        assert_eq!(problems("in `crates/db/src/x.rs:7`"), ["no such path: crates/db/src/x.rs"]);
        let good = "`crates/db/` `crates/*/src` `docs/a.md` `bench/<machine>` `src/x.rs` `cargo x`";
        assert_eq!(problems(good), Vec::<String>::new());
    }
}
