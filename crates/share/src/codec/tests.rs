//! Values and columns come over as they were; other bytes are errors.

use proptest::prelude::*;

use super::*;

#[path = "../../../graph/src/arbitrary.rs"]
#[expect(dead_code, reason = "it serves several crates")]
mod arbitrary;

/// As text, which tells floats apart by their bits and integers from floats.
fn shown(value: &Value) -> String {
    match value {
        Value::Float(x) => format!("{:x}", x.to_bits()),
        Value::List(all) => format!("{:?}", all.iter().map(shown).collect::<Vec<_>>()),
        Value::Map(all) => {
            format!("{:?}", all.iter().map(|(k, v)| (k, shown(v))).collect::<Vec<_>>())
        }
        other => format!("{other:?}"),
    }
}

fn rows(column: &Column) -> Vec<String> {
    (0..column.len()).map(|row| shown(&column.get(row))).collect()
}

fn there_and_back(column: &Column) -> Column {
    let mut bytes = Vec::new();
    put_column(column, &mut bytes).unwrap();
    let mut input = Input(&bytes);
    let back = input.column().unwrap();
    assert!(input.0.is_empty());
    back
}

fn column() -> impl Strategy<Value = Column> {
    use prop::collection::vec;
    use prop::option::of;
    let packed = |texts: Vec<Option<String>>| {
        let mut all = PackedTexts::default();
        texts.iter().for_each(|text| all.push(text.as_deref()));
        Column::Packed(all)
    };
    let int = |ints: Vec<Option<i64>>| Column::Ints(ints.into_iter().collect());
    prop_oneof![
        vec(arbitrary::value(), 0..20).prop_map(Column::Values),
        vec(arbitrary::value(), 0..20).prop_map(Column::of),
        vec(any::<i64>(), 0..200).prop_map(Column::from),
        vec(of(any::<i64>()), 0..200).prop_map(int),
        vec(arbitrary::float(), 0..200).prop_map(Column::from),
        vec(any::<bool>(), 0..200).prop_map(Column::from),
        vec(of(".{0,9}"), 0..20).prop_map(packed),
        (arbitrary::value(), 0..1_000_000_usize).prop_map(|(value, n)| Column::Same(value, n)),
        vec((any::<i64>(), ".{0,4}"), 0..9).prop_map(|rows| {
            let (ints, texts): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
            let texts = texts.into_iter().map(|text| Value::from(text.as_str())).collect();
            let columns = [("i".into(), Column::from(ints)), ("t".into(), Column::of(texts))];
            Column::Maps(Maps::new(columns))
        }),
    ]
}

proptest! {
    #[test]
    fn columns_come_over_as_they_were(column in column()) {
        let back = there_and_back(&column);
        prop_assert_eq!(std::mem::discriminant(&back), std::mem::discriminant(&column));
        prop_assert_eq!(back.len(), column.len());
        if back.len() < 1000 {
            prop_assert_eq!(rows(&back), rows(&column));
        }
    }

    #[test]
    fn damaged_bytes_are_no_panic_and_take_no_memory(
        column in column(),
        at in any::<prop::sample::Index>(),
        with in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        put_column(&column, &mut bytes).unwrap();
        let at = at.index(bytes.len());
        bytes[at] = with;
        let _ = Input(&bytes).column();
        let _ = Input(&bytes).columns();
        bytes.truncate(cut.index(bytes.len() + 1));
        let _ = Input(&bytes).column();
    }
}

#[test]
fn a_count_that_lies_is_an_error() {
    for tag in [column_tag::VALUES, column_tag::TEXTS, column_tag::PACKED, column_tag::INTS] {
        let mut bytes = vec![tag];
        put_varint(1 << 40, &mut bytes);
        bytes.extend([0; 9]);
        assert!(Input(&bytes).column().is_err(), "{tag}");
    }
}

#[test]
fn nodes_and_relationships_come_with_what_they_are() {
    let vertex = |n| VertexId::from_raw(n);
    let edge = EdgeId {
        ty: EdgeTypeId::from_raw(3),
        src: vertex(1),
        dst: vertex(1 << 40),
        ordinal: u32::MAX,
    };
    let path = Path::walk(vertex(1), [edge]).unwrap();
    let nested = Value::list([
        Value::Vertex(vertex(1)),
        Value::map([("e", Value::Edge(Arc::new(edge))), ("p", Value::Path(Arc::new(path)))]),
    ]);
    let node = Node {
        labels: vec!["A".into(), "B".into()],
        properties: ValueMap::from([("k".into(), Value::from(1))]),
    };
    let relationship = Relationship { ty: "T".into(), properties: ValueMap::new() };
    let columns = Columns::of([
        ("n".into(), Column::from(vec![vertex(1), vertex(1 << 40)])),
        ("e".into(), Column::Edges([Some(edge), None].into_iter().collect())),
        ("v".into(), Column::Values(vec![nested.clone(), Value::Null])),
    ]);
    let columns = columns.with_entities([(vertex(1), node)], [(edge, relationship)]);
    let mut bytes = Vec::new();
    put_columns(&columns, &mut bytes).unwrap();
    let back = Input(&bytes).columns().unwrap();
    assert_eq!(back.names(), columns.names());
    assert_eq!(shown(&back.column(2).get(0)), shown(&nested));
    assert_eq!(back.column(1).get(0), Value::Edge(Arc::new(edge)));
    assert!(back.column(1).is_null(1));
    assert_eq!(back.node(vertex(1)), columns.node(vertex(1)));
    assert_eq!(back.relationship(&edge), columns.relationship(&edge));
    assert_eq!(back.nodes(), columns.nodes());
}

#[test]
fn what_nests_too_deep_is_an_error() {
    let mut value = Value::Vertex(VertexId::from_raw(1));
    for _ in 0..=NESTING_MAX {
        value = Value::list([value]);
    }
    assert!(put_value(&value, &mut Vec::new()).is_err());
    let mut bytes = [tag::LIST, 1].repeat(NESTING_MAX as usize + 1);
    bytes.extend([tag::NODE, 1]);
    assert!(Input(&bytes).value().is_err());
}
