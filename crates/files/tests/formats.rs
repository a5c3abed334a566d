//! Tables go into files of every format and come back.

#[path = "../../arrow/tests/values/mod.rs"]
mod values;

use std::fs::File;
use std::sync::Arc;

use proptest::prelude::*;
use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::{FileFormat, FileOptions, QueryError};

fn names(count: usize) -> Vec<Arc<str>> {
    let odd = ["a", "b c", "\"q\"", "ä", "e,f"];
    (0..count).map(|at| odd[at % odd.len()].into()).collect()
}

/// Writes batches and reads them again.
fn through(
    names: &[Arc<str>],
    batches: &[Vec<Column>],
    options: &FileOptions,
) -> Result<(Vec<Arc<str>>, Vec<Column>), QueryError> {
    let file = tempfile::NamedTempFile::new().expect("there is room");
    let open = || File::options().read(true).write(true).open(file.path()).expect("it is there");
    let formats = telar_files::formats();
    let mut writer = formats.write(open(), "t", names, options)?;
    for batch in batches {
        writer.write(&batch.iter().collect::<Vec<_>>(), None)?;
    }
    writer.finish()?;
    let mut reader = formats.read(open(), "t", options)?;
    let found = reader.names().to_vec();
    let mut all = vec![Column::default(); found.len()];
    while let Some(columns) = reader.next()? {
        assert_eq!(columns.len(), found.len());
        all.iter_mut().zip(&columns).for_each(|(all, more)| all.append(more));
    }
    Ok((found, all))
}

/// A table of some columns in two batches.
fn table() -> impl Strategy<Value = Vec<Vec<Vec<Value>>>> {
    (1usize..4, 0usize..12).prop_flat_map(|(columns, rows)| {
        let all = prop::collection::vec(values::rows(rows), columns);
        (all, 0..=rows).prop_map(|(all, cut)| {
            let part = |from: usize, to: usize| {
                all.iter().map(|values| values[from..to].to_vec()).collect::<Vec<_>>()
            };
            vec![part(0, cut), part(cut, all[0].len())]
        })
    })
}

fn check(table: &[Vec<Vec<Value>>], options: &FileOptions) {
    let names = names(table[0].len());
    let batch = |columns: &Vec<Vec<Value>>| {
        columns.iter().map(|values| values::column(values, true)).collect::<Vec<_>>()
    };
    let batches: Vec<Vec<Column>> = table.iter().map(batch).collect();
    let (found_names, found) = through(&names, &batches, options).expect("it comes back");
    let rows = table.iter().map(|columns| columns[0].len()).sum::<usize>();
    if rows > 0 || options.format != FileFormat::Json {
        assert_eq!(found_names, names);
    }
    for (at, column) in found.iter().enumerate() {
        let expected: Vec<&Value> = table.iter().flat_map(|columns| &columns[at]).collect();
        assert_eq!(column.len(), expected.len());
        for (row, value) in expected.iter().enumerate() {
            let found = column.get(row);
            assert!(values::same(&found, value), "{found:?} is not {value:?} in {options:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn nothing_is_lost(table in table(), which in 0usize..8) {
        let of = |format, compression: Option<&str>| {
            let compression = compression.map(str::to_owned);
            FileOptions { compression, ..FileOptions::new(format) }
        };
        let options = [
            of(FileFormat::Parquet, None),
            of(FileFormat::Parquet, Some("none")),
            of(FileFormat::Parquet, Some("snappy")),
            of(FileFormat::Parquet, Some("gzip")),
            of(FileFormat::Arrow, None),
            of(FileFormat::Arrow, Some("zstd")),
            of(FileFormat::Arrow, Some("lz4")),
            FileOptions { typed: true, ..FileOptions::new(FileFormat::Json) },
        ];
        check(&table, &options[which]);
    }

    /// CSV with types: everything but empty texts and lists, which have no type of their own.
    #[test]
    fn csv_keeps_what_it_has_types_for(
        ints in prop::collection::vec(prop::option::of(any::<i64>()), 1..30),
        text in "[^\u{feff}\0]{0,6}",
        float in prop::num::f64::ANY,
        delimiter in prop::sample::select(vec![b',', b';', b'\t']),
        typed: bool,
    ) {
        let rows = ints.len();
        let ints: Vec<Value> = ints.into_iter().map(Value::from).collect();
        let day = Value::Date("2024-02-29".parse().unwrap());
        let moment = Value::LocalDateTime("1999-12-31T23:59:59.5".parse().unwrap());
        let texts = vec![if text.is_empty() { Value::Null } else { Value::from(text) }; rows];
        let columns = [
            ints,
            texts,
            vec![Value::Float(float); rows],
            vec![day; rows],
            vec![Value::Bool(true); rows],
            vec![moment; rows],
        ];
        let names: Vec<Arc<str>> = ["i", "t", "f", "d", "b", "m"].map(Arc::from).to_vec();
        let types = [("i", "int"), ("t", "string"), ("f", "float")];
        let types = types.map(|(name, of)| (name.to_owned(), of.to_owned())).to_vec();
        let options = FileOptions { delimiter, types, ..FileOptions::new(FileFormat::Csv) };
        // Types that can be guessed need not be given.
        let mut guessed = options.clone();
        guessed.types.remove(0);
        let options = if typed { &options } else { &guessed };
        let batch = columns.iter().map(|values| Column::of(values.clone())).collect();
        let (_, found) = through(&names, &[batch], options).unwrap();
        for (column, expected) in found.iter().zip(&columns) {
            let nothing = expected.iter().all(Value::is_null);
            for (row, value) in expected.iter().enumerate() {
                prop_assert!(nothing || values::same(&column.get(row), value),
                    "{:?} is not {value:?}", column.get(row));
            }
        }
    }
}

#[test]
fn more_rows_than_a_batch_come_in_batches() {
    let rows = 150_000;
    let columns = vec![Column::numbers(rows), Column::nulls(rows)];
    for format in [FileFormat::Parquet, FileFormat::Arrow, FileFormat::Json, FileFormat::Csv] {
        let (_, found) =
            through(&names(2), std::slice::from_ref(&columns), &FileOptions::new(format)).unwrap();
        assert_eq!(found[0].ints().unwrap().len(), rows, "{format:?}");
        assert_eq!(found[0].ints().unwrap()[rows - 1], rows as i64 - 1);
        assert_eq!(found[1].len(), rows);
        assert!(found[1].is_null(7));
    }
}

#[test]
fn a_later_value_of_another_type_is_told() {
    let many = vec![Column::numbers(70_000)];
    let other = vec![Column::of(vec!["x".into()])];
    let options = FileOptions::new(FileFormat::Parquet);
    let error = through(&names(1), &[many, other], &options).unwrap_err().message;
    assert!(error.starts_with("t: column 'a': a column of a file has one type"), "{error}");
}
