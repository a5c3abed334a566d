//! Expected rows against those that came.

use super::step::ExpectedRows;
use super::subject::Rows;
use super::value::TckValue;

/// How many rows of each side a message shows.
const SHOWN_MAX: usize = 10;

type Row = Vec<TckValue>;

/// Compares. Columns are found by name, as rows are maps to the TCK.
///
/// # Errors
/// What differs: columns, or which rows are missing and which are too many.
pub fn compare(expected: &ExpectedRows, found: &Rows) -> Result<(), String> {
    let sorted = |names: &[String]| {
        let mut names = names.to_vec();
        names.sort();
        names
    };
    if sorted(&expected.columns) != sorted(&found.columns) {
        return Err(format!("columns: want {:?}, got {:?}", expected.columns, found.columns));
    }
    let place = |name| found.columns.iter().position(|column| column == name);
    let places: Vec<usize> = expected.columns.iter().filter_map(place).collect();
    let normal = |value: &TckValue| match expected.any_list_order {
        true => value.clone().with_sorted_lists(),
        false => value.clone(),
    };
    let mut want: Vec<Row> =
        expected.rows.iter().map(|row| row.iter().map(normal).collect()).collect();
    let mut got = Vec::with_capacity(found.rows.len());
    for row in &found.rows {
        if row.len() != found.columns.len() {
            return Err(format!("a row has {} values: {}", row.len(), show(row)));
        }
        got.push(places.iter().map(|place| normal(&row[*place])).collect::<Row>());
    }
    if want == got {
        return Ok(());
    }
    if expected.in_order {
        let first = want.iter().zip(&got).position(|(a, b)| a != b);
        let first = first.unwrap_or(want.len().min(got.len()));
        let row = |rows: &[Row]| rows.get(first).map_or("nothing".to_owned(), |row| show(row));
        return Err(format!(
            "rows: want {}, got {}; row {}: want {}, got {}",
            want.len(),
            got.len(),
            first + 1,
            row(&want),
            row(&got)
        ));
    }
    want.sort();
    got.sort();
    let (missing, extra) = differences(want, got);
    if missing.is_empty() && extra.is_empty() {
        return Ok(());
    }
    Err(format!("rows: missing {}; too many {}", show_all(&missing), show_all(&extra)))
}

/// What each of two sorted lists has more often than the other.
fn differences(want: Vec<Row>, got: Vec<Row>) -> (Vec<Row>, Vec<Row>) {
    let (mut missing, mut extra) = (Vec::new(), Vec::new());
    let (mut want, mut got) = (want.into_iter().peekable(), got.into_iter().peekable());
    loop {
        match (want.peek(), got.peek()) {
            (Some(w), Some(g)) if w == g => {
                want.next();
                got.next();
            }
            (Some(w), Some(g)) if w < g => missing.extend(want.next()),
            (Some(_), None) => missing.extend(want.next()),
            (_, Some(_)) => extra.extend(got.next()),
            (None, None) => return (missing, extra),
        }
    }
}

fn show(row: &[TckValue]) -> String {
    let cells: Vec<String> = row.iter().map(ToString::to_string).collect();
    format!("| {} |", cells.join(" | "))
}

fn show_all(rows: &[Row]) -> String {
    let mut shown: Vec<String> = rows.iter().take(SHOWN_MAX).map(|row| show(row)).collect();
    if rows.len() > SHOWN_MAX {
        shown.push(format!("and {} more", rows.len() - SHOWN_MAX));
    }
    if shown.is_empty() { "none".to_owned() } else { shown.join(" ") }
}

#[cfg(test)]
mod tests {
    use super::super::literal;
    use super::*;

    fn rows(text: &str) -> (Vec<String>, Vec<Row>) {
        let mut lines = text.lines().map(|line| line.split(" ; ").map(str::trim));
        let columns = lines.next().unwrap().map(str::to_owned).collect();
        let rows = lines.map(|line| line.map(|cell| literal::parse(cell).unwrap()).collect());
        (columns, rows.collect())
    }

    fn same(in_order: bool, any_list_order: bool, want: &str, got: &str) -> bool {
        let ((columns, want), (found, got)) = (rows(want), rows(got));
        let expected = ExpectedRows { columns, rows: want, in_order, any_list_order };
        compare(&expected, &Rows { columns: found, rows: got }).is_ok()
    }

    #[test]
    fn order_matters_where_it_is_said_to() {
        let (a, b) = ("x ; y\n1 ; 'a'\n2 ; 'b'", "x ; y\n2 ; 'b'\n1 ; 'a'");
        assert!(same(true, false, a, a) && same(false, false, a, b));
        assert!(!same(true, false, a, b));
        let (a, b) = ("x\n[1, [3, 2]]", "x\n[[2, 3], 1]");
        assert!(same(false, true, a, b) && same(true, true, a, b));
        assert!(!same(false, false, a, b) && !same(true, false, a, b));
    }

    #[test]
    fn rows_are_bags() {
        assert!(!same(false, false, "x\n1\n1\n2", "x\n1\n2\n2"));
        assert!(!same(false, false, "x\n1", "x\n1\n1"));
        assert!(!same(true, false, "x\n1\n1", "x\n1"));
        assert!(same(false, false, "x\n2\n1\n2", "x\n2\n2\n1"));
    }

    #[test]
    fn columns_are_found_by_name() {
        assert!(same(true, false, "x ; y\n1 ; 2", "y ; x\n2 ; 1"));
        assert!(!same(true, false, "x ; y\n1 ; 2", "y ; x\n1 ; 2"));
        assert!(!same(true, false, "x\n1", "y\n1"));
        assert!(!same(true, false, "x", "x ; y"));
    }

    #[test]
    fn any_other_value_is_noticed() {
        for (want, got) in [
            ("1", "1.0"),
            ("1", "'1'"),
            ("null", "false"),
            ("(:A)", "(:A:B)"),
            ("(:A {p: 1})", "(:A {p: 2})"),
            ("({p: 1})", "{p: 1}"),
            ("[:T]", "[:U]"),
            ("[]", "[null]"),
            ("{a: 1}", "{a: 1, b: null}"),
            ("<(:A)-[:T]->(:B)>", "<(:B)<-[:T]-(:A)>"),
            ("<(:A)-[:T]->(:B)>", "<(:A)<-[:T]-(:B)>"),
            ("NaN", "null"),
        ] {
            let table = |value: &str| format!("x\n{value}");
            assert!(same(false, true, &table(want), &table(want)), "{want}");
            assert!(!same(false, true, &table(want), &table(got)), "{want} {got}");
        }
    }

    #[test]
    fn messages_say_what_is_missing() {
        let (columns, want) = rows("x\n1\n2");
        let expected = ExpectedRows { columns, rows: want, in_order: false, any_list_order: false };
        let (columns, got) = rows("x\n2\n3");
        let problem = compare(&expected, &Rows { columns, rows: got }).unwrap_err();
        assert_eq!(problem, "rows: missing | 1 |; too many | 3 |");
    }
}
