//! Files that are not what they should be: an error with the file and the place, never a panic.

use std::fs::File;
use std::io::Write;
use std::sync::Arc;

use telar_db::Value;
use telar_db::column::Column;
use telar_db::query::{FileFormat, FileOptions, QueryError};

fn read(bytes: &[u8], options: &FileOptions) -> Result<Vec<Column>, QueryError> {
    let mut file = tempfile::NamedTempFile::new().expect("there is room");
    file.write_all(bytes).expect("there is room");
    let file = File::open(file.path()).expect("it is there");
    let mut reader = telar_files::formats().read(file, "f", options)?;
    let mut all = vec![Column::default(); reader.names().len()];
    while let Some(columns) = reader.next()? {
        all.iter_mut().zip(&columns).for_each(|(all, more)| all.append(more));
    }
    Ok(all)
}

fn written(options: &FileOptions) -> Vec<u8> {
    let file = tempfile::NamedTempFile::new().expect("there is room");
    let names: Vec<Arc<str>> = ["n", "t", "l"].map(Arc::from).to_vec();
    let open = File::options().write(true).open(file.path()).expect("it is there");
    let mut writer =
        telar_files::formats().write(open, "f", &names, options).expect("it is written");
    let lists = (0..50).map(|n| Value::list([n, n + 1])).collect();
    let texts = (0..50).map(|n| Value::from(format!("text {}", n % 7))).collect();
    let columns = [Column::numbers(50), Column::of(texts), Column::of(lists)];
    writer.write(&columns.iter().collect::<Vec<_>>(), None).expect("it is written");
    writer.finish().expect("it is written");
    std::fs::read(file.path()).expect("it is there")
}

fn refused(format: FileFormat, bytes: &[u8]) -> String {
    read(bytes, &FileOptions::new(format)).expect_err("it is refused").message
}

#[test]
fn cut_and_flipped_files_are_errors_or_other_values() {
    let with = |format, compression: &str| FileOptions {
        compression: Some(compression.to_owned()),
        ..FileOptions::new(format)
    };
    let all = [
        with(FileFormat::Parquet, "none"),
        with(FileFormat::Parquet, "zstd"),
        with(FileFormat::Parquet, "snappy"),
        with(FileFormat::Arrow, "none"),
        with(FileFormat::Arrow, "lz4"),
        FileOptions { typed: true, ..FileOptions::new(FileFormat::Json) },
        FileOptions::new(FileFormat::Csv),
    ];
    for options in all {
        let whole = written(&options);
        assert_eq!(read(&whole, &options).expect("it is whole")[0].len(), 50);
        let binary = matches!(options.format, FileFormat::Parquet | FileFormat::Arrow);
        for cut in (0..whole.len()).step_by(1 + whole.len() / 150) {
            let found = read(&whole[..cut], &options);
            assert!(!binary || found.is_err(), "{options:?} cut at {cut}");
        }
        let mut state = 7_u64;
        for _ in 0..400 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = (state >> 33) as usize % whole.len();
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << (state >> 61);
            if let Err(error) = read(&bytes, &options) {
                assert!(error.message.starts_with('f'), "{error}");
            }
        }
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    use FileFormat::{Arrow, Csv, Json, Parquet};
    let none = b"".as_slice();
    assert!(refused(Parquet, none).starts_with("f: "));
    assert!(refused(Arrow, none).starts_with("f: "));
    assert!(refused(Parquet, b"a,b\n1,2\n").starts_with("f: "));
    assert!(refused(Arrow, b"PAR1 and more").starts_with("f: "));
    let text = refused(Csv, b"a,b\n1,2\n1\n");
    assert_eq!(text, "f:3: expected 2 fields as in the first record, found 1");
    assert_eq!(refused(Csv, b"a,b\n1,\"2\n3,4\n"), "f:2: a quote is opened and never closed");
    assert_eq!(refused(Csv, b"a\n\xff\n"), "f:2: the text is not UTF-8");
    let text = refused(Json, b"{\"a\":1}\n\n{\"a\":\n");
    assert!(text.starts_with("f:3: column "), "{text}");
    assert_eq!(refused(Json, b"[1]\n"), "f:1: expected an object: a line is a row of a table");
    let text = refused(Json, b"{\"a\":{\"$type\":\"Date\",\"_value\":\"x\"}}\n");
    assert!(text.starts_with("f:1: key 'a': "), "{text}");
    let text = refused(Json, b"{\"a\":9223372036854775808}\n");
    assert_eq!(text, "f:1: key 'a': 9223372036854775808 is not a 64-bit integer");
    let types = |name: &str, of: &str| FileOptions {
        types: vec![(name.to_owned(), of.to_owned())],
        ..FileOptions::new(Csv)
    };
    let text = read(b"a\n1\n2x\n", &types("a", "int")).expect_err("it is no number").message;
    assert_eq!(
        text,
        "f:3: column 'a' is of type int, and \"2x\" is not: no whole number of 64 bits"
    );
    let text = read(b"a\n1\n", &types("b", "int")).expect_err("there is none").message;
    assert_eq!(text, "f: a type is given for 'b', and the columns are a");
    let text = read(b"a\n1\n", &types("a", "number")).expect_err("there is none").message;
    assert!(text.starts_with("f: there is no type 'number'; there are boolean, "), "{text}");
    let mut long = b"a\n".to_vec();
    (0..10_000).for_each(|_| long.extend_from_slice(b"1\n"));
    long.extend_from_slice(b"x\n");
    let text = refused(Csv, &long);
    let expected = "f:10002: column 'a' is of type int, and \"x\" is not: no whole number of 64 \
                    bits; the first 10000 rows were of this type: give the column another, in COPY \
                    by types = 'a:string', in an import by a mapping file";
    assert_eq!(text, expected);
}

#[test]
fn text_is_read_whatever_it_is_written_in() {
    let text = "name,n\nä𝄞,1\n";
    let with_bom = [b"\xef\xbb\xbf", text.as_bytes()].concat();
    let units: Vec<u16> = text.encode_utf16().collect();
    let little: Vec<u8> = units.iter().flat_map(|unit| unit.to_le_bytes()).collect();
    let big: Vec<u8> = little.chunks(2).flat_map(|pair| [pair[1], pair[0]]).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    gzip.write_all(&with_bom).expect("it is written");
    let all = [
        text.as_bytes().to_vec(),
        with_bom.clone(),
        [&b"\xff\xfe"[..], &little].concat(),
        [&b"\xfe\xff"[..], &big].concat(),
        gzip.finish().expect("it is written"),
        zstd::encode_all(&with_bom[..], 1).expect("it is written"),
        text.replace('\n', "\r\n").into_bytes(),
    ];
    for bytes in all {
        let columns = read(&bytes, &FileOptions::new(FileFormat::Csv)).expect("it is read");
        assert_eq!(columns[0].get(0), Value::from("ä𝄞"));
        assert_eq!(columns[1].get(0), Value::Int(1));
    }
    let odd = [&b"\xff\xfe"[..], &little, b"x"].concat();
    assert!(refused(FileFormat::Csv, &odd).contains("the text is not UTF-16"));
    let half = [&b"\xff\xfe"[..], &little, &0xd834_u16.to_le_bytes()].concat();
    assert!(refused(FileFormat::Csv, &half).contains("the text is not UTF-16"));
}

#[test]
fn a_schema_may_stand_at_the_end_of_a_file_alone() {
    let compression = Some("none".to_owned());
    let options = FileOptions { compression, ..FileOptions::new(FileFormat::Arrow) };
    let whole = written(&options);
    // Files of JavaScript begin with a batch. A mark, a length and the schema go.
    let length = u32::from_le_bytes([whole[12], whole[13], whole[14], whole[15]]) as usize;
    let without = [&whole[..8], &whole[16 + length..]].concat();
    let values = |bytes: &[u8]| -> Vec<Vec<Value>> {
        let columns = read(bytes, &options).expect("it can be read");
        columns.into_iter().map(Column::into_values).collect()
    };
    assert_eq!(values(&without), values(&whole));
    for at in 0..without.len() {
        for bit in [0, 5, 7] {
            let mut bytes = without.clone();
            bytes[at] ^= 1 << bit;
            if let Err(error) = read(&bytes, &options) {
                assert!(error.message.starts_with('f'), "{error}");
            }
        }
    }
}
