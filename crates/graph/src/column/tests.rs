//! Columns against lists of values.

use proptest::prelude::*;

use super::*;
use crate::EdgeTypeId;
use crate::value::{CoordinateType, Vector};

/// Values of a few types, so that columns of one type are as frequent as mixtures.
fn value(kind: u8, n: i64) -> Value {
    let node = |n: i64| VertexId::from_raw(n.unsigned_abs());
    match kind {
        0 => Value::Null,
        1 => Value::Int(n),
        2 => Value::Float(n as f64 / 2.0),
        3 => Value::Bool(n % 2 == 0),
        4 => Value::from(format!("text {n}").as_str()),
        5 => Value::Vertex(node(n)),
        6 => Value::from(EdgeId {
            ty: EdgeTypeId::from_raw(1),
            src: node(n),
            dst: node(n + 1),
            ordinal: 3,
        }),
        7 => Value::list([Value::Int(n)]),
        8 => Value::list([n as f64 / 2.0, -0.0]),
        9 => vector(CoordinateType::F32, &[n.into(), 0.1.into()]),
        10 => vector(
            CoordinateType::ALL[n.unsigned_abs() as usize % 6],
            &vec![n.into(); 1 + n.unsigned_abs() as usize % 2],
        ),
        _ => Value::list(vec![n as f64 / 3.0; n.unsigned_abs() as usize % 3]),
    }
}

fn vector(ty: CoordinateType, numbers: &[Value]) -> Value {
    Vector::of_values(ty, numbers).unwrap().into()
}

/// Kinds of [`value`].
const KINDS: u8 = 12;

/// A column of these values, with lists of floats in blocks if all of them are such.
fn column_of(values: Vec<Value>) -> Column {
    match FloatLists::of(&values) {
        Some(lists) if values.iter().any(|value| !value.is_null()) => Column::FloatLists(lists),
        _ => Column::of(values),
    }
}

/// Rows of one type with nulls, or of any.
fn values() -> impl Strategy<Value = Vec<Value>> {
    let one = (0..KINDS).prop_flat_map(|kind| {
        let some = (prop::bool::weighted(0.8), -9..9_i64);
        prop::collection::vec(some, 0..80).prop_map(move |all| {
            let of = |(is, n): (bool, i64)| value(if is { kind } else { 0 }, n);
            all.into_iter().map(of).collect()
        })
    });
    let any = prop::collection::vec((0..KINDS, -9..9_i64), 0..20)
        .prop_map(|all| all.into_iter().map(|(kind, n)| value(kind, n)).collect());
    prop_oneof![3 => one, 1 => any]
}

/// Types as well: `1` and `1.0` are equal.
fn assert_same(column: &Column, model: &[Value]) {
    assert_eq!(column.len(), model.len());
    let found: Vec<Value> = (0..column.len()).map(|row| column.get(row)).collect();
    assert_eq!(format!("{found:?}"), format!("{model:?}"));
    assert_eq!(format!("{:?}", column.clone().into_values()), format!("{model:?}"));
    for (row, value) in model.iter().enumerate() {
        assert_eq!(column.is_null(row), value.is_null());
        let truth = if let Value::Bool(is) = value { Some(*is) } else { None };
        assert_eq!(column.truth(row), truth);
        let vertex = if let Value::Vertex(vertex) = value { Some(*vertex) } else { None };
        assert_eq!(column.vertex(row), vertex);
    }
    assert!(column.may_have_nulls() || !model.iter().any(Value::is_null));
}

#[test]
fn the_type_of_what_is_appended_is_that_of_the_column() {
    let mut column = Column::default();
    column.push_nulls(2);
    assert!(matches!(column, Column::Same(Value::Null, 2)));
    column.extend([None, Some(7_i64)]);
    assert!(matches!(&column, Column::Ints(all) if all.len() == 4));
    column.push(Value::Null);
    column.extend_from_slice(&[8_i64, 9]);
    assert!(matches!(&column, Column::Ints(all) if all.has_nulls()));
    column.extend_texts([None]);
    column.extend::<f64>([None, None]);
    assert!(matches!(column, Column::Ints(_)));
    column.extend_texts([Some(&Arc::from("a"))]);
    assert!(matches!(&column, Column::Values(all) if all.len() == 11));
    assert_eq!(column.get(3), Value::Int(7));
    let mut texts = Column::default();
    texts.extend_texts([Some(&Arc::from("a"))]);
    texts.extend::<i64>([None, None]);
    assert!(matches!(&texts, Column::Texts(all) if all.len() == 3));
    texts.extend([None, Some(1_i64), None, Some(2)]);
    assert_eq!(texts.into_values()[3..], [Value::Null, 1.into(), Value::Null, 2.into()]);
    let ints = Column::from(vec![1_i64, 2]);
    assert_eq!(ints.ints(), Some(&[1, 2][..]));
    assert!(ints.floats().is_none() && ints.vertices().is_none());
    let mut empty = Column::default();
    empty.extend_from_slice::<f64>(&[]);
    empty.extend::<f64>([]);
    assert!(matches!(empty, Column::Same(Value::Null, 0)));
}

#[test]
fn lists_of_floats_share_the_blocks_they_come_from() {
    let lists: Vec<Value> = (0..4).map(|n| Value::list([f64::from(n), 0.5])).collect();
    let block = Arc::new(FloatBlock::of(lists.iter()).unwrap());
    assert_eq!((block.length(), block.count(), block.bytes()), (2, 4, 4 * 2 * 4));
    let mut column = Column::default();
    column.extend_float_lists(&block, [Some(3), None, Some(0)].into_iter());
    // One that is not settled yet, before and behind.
    column.push(Value::list([0.1]));
    column.extend_float_lists(&block, [Some(1)].into_iter());
    let Column::FloatLists(all) = &column else { panic!("{column:?}") };
    assert_eq!(all.get(0), Some(Floats::F32(&[3.0, 0.5])));
    assert_eq!(all.get(3), Some(Floats::F64(&[0.1])));
    assert_eq!(Arc::strong_count(&block), 3);
    // Few rows let go of what they are not of.
    drop(column.gather(&[3]));
    let one = column.gather(&[3]);
    drop(column);
    assert_eq!((Arc::strong_count(&block), one.get(0)), (1, Value::list([0.1])));
    let mut late = Column::default();
    late.push(Value::list([7.0]));
    late.extend_float_lists(&block, [Some(2)].into_iter());
    assert!(matches!(late, Column::FloatLists(_)));
    assert_same(&late, &[Value::list([7.0]), Value::list([2.0, 0.5])]);
    let mut other = Column::from(vec![true]);
    other.extend_float_lists(&block, [Some(2), None].into_iter());
    assert_same(&other, &[true.into(), Value::list([2.0, 0.5]), Value::Null]);
    for lists in [vec![], vec![Value::list([1])], vec![Value::list([1.0]), Value::list([1.0, 2.0])]]
    {
        assert!(FloatBlock::of(lists.iter()).is_none(), "{lists:?}");
    }
    assert!(FloatBlock::of_f32(0, Vec::new()).is_none());
    assert!(FloatBlock::of_f64(2, vec![1.0]).is_none());
}

proptest! {
    #[test]
    fn columns_hold_what_lists_of_values_do(
        first in values(),
        more in values(),
        pushed in values(),
        packed in any::<bool>(),
        writes in prop::collection::vec((any::<prop::sample::Index>(), 0..KINDS, -9..9_i64), 0..9),
        rows in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let mut model = first.clone();
        let mut column = if packed { Column::packed() } else { Column::default() };
        column.append(&column_of(first.clone()));
        let of_texts = first.iter().all(|v| matches!(v, Value::String(_) | Value::Null));
        assert_eq!(matches!(column, Column::Packed(_)), packed && of_texts);
        assert_same(&column, &model);
        column.append(&column_of(more.clone()));
        model.extend(more.iter().cloned());
        assert_same(&column, &model);
        assert_same(&Column::concat(&[&column_of(first), &column_of(more)]), &model);
        for value in pushed {
            column.push(value.clone());
            model.push(value);
        }
        let same = Column::Same(Value::Int(3), 2);
        column.append(&same);
        model.extend([Value::Int(3), Value::Int(3)]);
        assert_same(&column, &model);
        for (at, kind, n) in writes {
            let (row, value) = (at.index(model.len()), value(kind, n));
            column.set(row, &value);
            model[row] = value;
        }
        assert_same(&column, &model);
        let rows: Vec<u32> = rows.iter().map(|row| row.index(model.len()) as u32).collect();
        let picked: Vec<Value> = rows.iter().map(|row| model[*row as usize].clone()).collect();
        assert_same(&column.gather(&rows), &picked);
        let half = model.len() / 2;
        let (a, b) = (column.slice(0, half), column.slice(half, model.len()));
        assert_same(&a, &model[..half]);
        let place = |row: &u32| match *row as usize {
            row if row < half => (0, row as u32),
            row => (1, (row - half) as u32),
        };
        let places: Vec<(u32, u32)> = rows.iter().map(place).collect();
        assert_same(&Column::pick(&[&a, &b], &places), &picked);
    }
}

/// Rows of a table with these keys.
fn table(keys: &[&str], rows: &[Value]) -> (Column, Vec<Value>) {
    let columns = keys.iter().map(|key| (Arc::from(*key), Column::of(rows.to_vec())));
    let maps = rows.iter().map(|v| Value::map(keys.iter().map(|key| (*key, v.clone()))));
    (Column::Maps(Maps::new(columns)), maps.collect())
}

proptest! {
    #[test]
    fn maps_hold_what_lists_of_maps_do(
        first in values(),
        more in values(),
        other in values(),
        write in (any::<prop::sample::Index>(), 0..KINDS, -9..9_i64),
        rows in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let (mut column, mut model) = table(&["a", "b"], &first);
        assert_same(&column, &model);
        let (same, same_model) = table(&["a", "b"], &more);
        column.append(&same);
        model.extend(same_model);
        assert!(matches!(column, Column::Maps(_)));
        assert_same(&column, &model);
        if let Column::Maps(maps) = &column {
            let b: Vec<Value> = first.iter().chain(&more).cloned().collect();
            assert_same(maps.column("b").expect("it has the key"), &b);
            assert!(maps.column("c").is_none());
        }
        let rows: Vec<u32> = match model.len() {
            0 => Vec::new(),
            len => rows.iter().map(|row| row.index(len) as u32).collect(),
        };
        let picked: Vec<Value> = rows.iter().map(|row| model[*row as usize].clone()).collect();
        assert_same(&column.gather(&rows), &picked);
        let half = model.len() / 2;
        assert_same(&column.slice(half, model.len()), &model[half..]);
        let places: Vec<(u32, u32)> = rows.iter().map(|row| (0, *row)).collect();
        assert_same(&Column::pick(&[&column], &places), &picked);

        let (odd, odd_model) = table(&["b", "a"], &other);
        column.append(&odd);
        model.extend(odd_model);
        assert_same(&column, &model);
        column.push_nulls(2);
        model.extend([Value::Null, Value::Null]);
        let (at, kind, n) = write;
        let (row, value) = (at.index(model.len()), value(kind, n));
        column.set(row, &value);
        model[row] = value;
        assert_same(&column, &model);
        let mut packed = Column::packed();
        packed.append(&same);
        assert_same(&packed, &table(&["a", "b"], &more).1);
    }
}
