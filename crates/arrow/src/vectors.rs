//! Vectors as lists of one size, and back.
//!
//! The field of such a column has the entry `telar:type` in its metadata, by which the
//! [reader](crate::reader) tells its vectors from other lists of one size.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
};
use arrow_array::{Array, ArrayRef, FixedSizeListArray, PrimitiveArray};
use arrow_buffer::NullBuffer;
use arrow_schema::{DataType, Field};
use telar_db::Value;
use telar_db::column::{Column, FloatBlock, FloatLists, Floats};
use telar_db::value::{CoordinateType, Coordinates, Vector};

/// Key of what a column is that Arrow has no type for.
const TYPE: &str = "telar:type";
/// That of vectors.
const VECTOR: &str = "VECTOR";

fn coordinates(ty: CoordinateType) -> DataType {
    match ty {
        CoordinateType::I8 => DataType::Int8,
        CoordinateType::I16 => DataType::Int16,
        CoordinateType::I32 => DataType::Int32,
        CoordinateType::I64 => DataType::Int64,
        CoordinateType::F32 => DataType::Float32,
        CoordinateType::F64 => DataType::Float64,
    }
}

fn item(ty: CoordinateType) -> Arc<Field> {
    Arc::new(Field::new("item", coordinates(ty), true))
}

/// The field of a column of vectors.
pub(crate) fn field(name: &str, (ty, dimension): (CoordinateType, u16)) -> Field {
    let field = Field::new(name, DataType::FixedSizeList(item(ty), dimension.into()), true);
    field.with_metadata(HashMap::from([(TYPE.to_owned(), VECTOR.to_owned())]))
}

/// The coordinate type and dimension of all vectors of a column of lists and vectors that are
/// shared with storage, if it has no lists and they are the same.
pub(crate) fn of_column(column: &FloatLists) -> Option<(CoordinateType, u16)> {
    let mut rows = (0..column.len()).filter(|row| !column.is_null(*row)).map(|row| {
        let ty = match column.get(row)? {
            Floats::F32(_) => CoordinateType::F32,
            Floats::F64(_) => CoordinateType::F64,
        };
        let dimension = column.get(row)?.len() as u16;
        column.is_vector(row).then_some((ty, dimension))
    });
    let first = rows.next()??;
    rows.all(|row| row == Some(first)).then_some(first)
}

/// The coordinates of all vectors, and which rows have one; `Err` with a value that is none.
fn numbers<T: ArrowPrimitiveType>(
    column: &Column,
    dimension: usize,
    of: impl Fn(&Coordinates) -> Option<&[T::Native]>,
) -> Result<(ArrayRef, NullBuffer), Value> {
    let mut all = Vec::with_capacity(column.len() * dimension);
    let mut valid = Vec::with_capacity(column.len());
    for row in 0..column.len() {
        let value = column.get(row);
        valid.push(!value.is_null());
        match &value {
            Value::Null => all.resize(all.len() + dimension, T::Native::default()),
            Value::Vector(vector) => match of(vector.coordinates()) {
                Some(found) if found.len() == dimension => all.extend_from_slice(found),
                _ => return Err(value),
            },
            _ => return Err(value),
        }
    }
    Ok((Arc::new(PrimitiveArray::<T>::from_iter_values(all)), NullBuffer::from(valid)))
}

/// The array of a column of such vectors and nulls; `Err` with a value that is something else.
pub(crate) fn array(
    (ty, dimension): (CoordinateType, u16),
    column: &Column,
) -> Result<ArrayRef, Value> {
    macro_rules! of {
        ($arrow:ty, $kind:ident) => {
            numbers::<$arrow>(column, dimension.into(), |all| match all {
                Coordinates::$kind(all) => Some(all),
                _ => None,
            })?
        };
    }
    let (all, valid) = match ty {
        CoordinateType::I8 => of!(Int8Type, I8),
        CoordinateType::I16 => of!(Int16Type, I16),
        CoordinateType::I32 => of!(Int32Type, I32),
        CoordinateType::I64 => of!(Int64Type, I64),
        CoordinateType::F32 => of!(Float32Type, F32),
        CoordinateType::F64 => of!(Float64Type, F64),
    };
    let nulls = (valid.null_count() > 0).then_some(valid);
    Ok(Arc::new(FixedSizeListArray::new(item(ty), dimension.into(), all, nulls)))
}

/// The vectors of an array of lists of one size; `None` if the field is none of vectors, if its
/// elements are no numbers of a type that vectors have, or one of them is null, not finite, or
/// there are too many.
pub(crate) fn column(array: &dyn Array, field: &Field) -> Option<Column> {
    field.metadata().get(TYPE).filter(|ty| *ty == VECTOR)?;
    let array = array.as_fixed_size_list_opt()?;
    let values = array.values();
    let dimension = array.value_length() as usize;
    let first = array.value_offset_at(0);
    let rows = || (0..array.len()).map(|row| array.is_valid(row));
    let range = |row: usize| first + row * dimension..first + (row + 1) * dimension;
    let some: Vec<usize> = (0..array.len()).filter(|row| array.is_valid(*row)).collect();
    if some.iter().any(|row| range(*row).any(|at| values.is_null(at))) {
        return None;
    }
    macro_rules! block {
        ($arrow:ty, $make:ident) => {{
            let values = values.as_primitive::<$arrow>().values();
            let all = some.iter().flat_map(|row| values[range(*row)].iter().copied()).collect();
            let block = Arc::new(FloatBlock::$make(dimension, all)?.into_vectors()?);
            let mut next = 0..;
            let places: Vec<Option<u32>> =
                rows().map(|is| if is { next.next() } else { None }).collect();
            let mut column = Column::default();
            column.extend_float_lists(&block, places.into_iter());
            column
        }};
    }
    macro_rules! values {
        ($arrow:ty, $kind:ident) => {{
            let values = values.as_primitive::<$arrow>().values();
            let one = |(row, is): (usize, bool)| match is {
                true => Vector::new(Coordinates::$kind(values[range(row)].into())).map(Value::from),
                false => Ok(Value::Null),
            };
            Column::of(rows().enumerate().map(one).collect::<Result<_, _>>().ok()?)
        }};
    }
    if some.is_empty() {
        return Some(Column::nulls(array.len()));
    }
    Some(match values.data_type() {
        DataType::Int8 => values!(Int8Type, I8),
        DataType::Int16 => values!(Int16Type, I16),
        DataType::Int32 => values!(Int32Type, I32),
        DataType::Int64 => values!(Int64Type, I64),
        DataType::Float32 => block!(Float32Type, of_f32),
        DataType::Float64 => block!(Float64Type, of_f64),
        _ => return None,
    })
}
