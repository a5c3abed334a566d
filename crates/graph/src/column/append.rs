//! Rows that are appended to a column, which has the type of what comes as long as it is one.

use std::sync::Arc;

use super::{Column, FloatBlock, FloatLists, Nullable, by_type};
use crate::{EdgeId, Value, VertexId};

mod sealed {
    pub trait Sealed {}
}

/// Types that have columns of [`Nullable`] values.
pub trait Element: sealed::Sealed + Copy + Default + Into<Value> {
    /// The list of a column, if it is of this type.
    fn list(column: &Column) -> Option<&Nullable<Self>>;

    /// The same, to be changed.
    #[doc(hidden)]
    fn list_mut(column: &mut Column) -> Option<&mut Nullable<Self>>;

    /// A column of this type.
    #[doc(hidden)]
    fn column(list: Nullable<Self>) -> Column;

    /// The value, if it is of this type.
    fn of(value: &Value) -> Option<Self>;
}

macro_rules! elements {
    ($($ty:ty => $kind:ident, $value:pat => $own:expr;)*) => {$(
        impl sealed::Sealed for $ty {}

        impl Element for $ty {
            fn list(column: &Column) -> Option<&Nullable<Self>> {
                if let Column::$kind(all) = column { Some(all) } else { None }
            }

            fn list_mut(column: &mut Column) -> Option<&mut Nullable<Self>> {
                if let Column::$kind(all) = column { Some(all) } else { None }
            }

            fn column(list: Nullable<Self>) -> Column {
                Column::$kind(list)
            }

            fn of(value: &Value) -> Option<Self> {
                if let $value = value { Some($own) } else { None }
            }
        }
    )*};
}

elements! {
    VertexId => Vertices, Value::Vertex(vertex) => *vertex;
    EdgeId => Edges, Value::Edge(edge) => **edge;
    bool => Bools, Value::Bool(is) => *is;
    i64 => Ints, Value::Int(int) => *int;
    f64 => Floats, Value::Float(float) => *float;
}

impl Column {
    /// Makes room for so many rows more, if the type is known.
    pub fn reserve(&mut self, rows: usize) {
        by_type!(self, all => all.reserve(rows),
            Self::Texts(all) => all.reserve(rows),
            Self::Packed(all) => all.reserve(rows),
            Self::FloatLists(all) => all.reserve(rows),
            Self::Values(all) => all.reserve(rows),
            Self::Maps(_) | Self::Same(..) => {}
        )
    }

    /// Makes it a column of this type if it has none yet; false if it is of another one.
    fn becomes<T: Element>(&mut self) -> bool {
        self.forget_packing();
        if let Self::Same(Value::Null, rows) = self {
            *self = T::column(Nullable::nulls(*rows));
        }
        T::list_mut(self).is_some()
    }

    /// Makes it a column of nulls if it was to be one of packed texts, and has no text yet.
    fn forget_packing(&mut self) {
        if let Self::Packed(all) = self
            && (0..all.len()).all(|row| all.is_null(row))
        {
            *self = Self::nulls(all.len());
        }
    }

    /// Makes it a column of texts if it has no type yet; `None` if it has another one.
    fn becomes_texts(&mut self) -> Option<&mut Vec<Option<Arc<str>>>> {
        if let Self::Same(Value::Null, rows) = self {
            *self = Self::Texts(vec![None; *rows]);
        }
        if let Self::Texts(all) = self { Some(all) } else { None }
    }

    /// The same rows as values.
    fn becomes_values(&mut self) -> &mut Vec<Value> {
        self.forget_packing();
        if !matches!(self, Self::Values(_)) {
            *self = Self::Values(std::mem::take(self).into_values());
        }
        let Self::Values(all) = self else { unreachable!("INVARIANT: it was made so") };
        all
    }

    /// Appends values of one type, `None` for null.
    pub fn extend<T: Element>(&mut self, values: impl IntoIterator<Item = Option<T>>) {
        let mut values = values.into_iter();
        if let Self::Packed(all) = self {
            // Nulls alone leave it a column of texts.
            let nulls = values.by_ref();
            let Some(first) = nulls.find_map(|value| {
                if value.is_none() {
                    all.push(None);
                }
                value
            }) else {
                return;
            };
            self.push(first.into());
        }
        if let Self::Same(Value::Null, rows) = self {
            // Nulls alone give no type.
            for value in values.by_ref() {
                let Some(value) = value else {
                    *rows += 1;
                    continue;
                };
                let mut list = Nullable::nulls(*rows);
                list.push(Some(value));
                *self = T::column(list);
                break;
            }
        }
        match T::list_mut(self) {
            Some(list) => list.extend(values),
            // Nulls change no type: what comes first that is none does.
            None => {
                while let Some(value) = values.next() {
                    let Some(first) = value else {
                        self.push_nulls(1);
                        continue;
                    };
                    let value = |value: Option<T>| value.map_or(Value::Null, Into::into);
                    let all = self.becomes_values();
                    all.push(first.into());
                    all.extend(values.map(value));
                    return;
                }
            }
        }
    }

    /// Appends values of one type of which none is null.
    pub fn extend_from_slice<T: Element>(&mut self, values: &[T]) {
        if values.is_empty() {
            return;
        }
        self.becomes::<T>();
        match T::list_mut(self) {
            Some(list) => list.extend_from_slice(values),
            None => self.becomes_values().extend(values.iter().map(|value| (*value).into())),
        }
    }

    /// Appends texts, `None` for null: shared, or copied if it is a [`Column::packed`].
    pub fn extend_texts<'t>(&mut self, texts: impl IntoIterator<Item = Option<&'t Arc<str>>>) {
        let mut texts = texts.into_iter();
        if let Self::Packed(all) = self {
            texts.for_each(|text| all.push(text.map(|text| &**text)));
            return;
        }
        while let Some(text) = texts.next() {
            let Some(text) = text else {
                self.push_nulls(1);
                continue;
            };
            match self.becomes_texts() {
                Some(all) => {
                    all.push(Some(Arc::clone(text)));
                    all.extend(texts.map(|text| text.cloned()));
                    return;
                }
                None => self.becomes_values().push(Value::String(Arc::clone(text))),
            }
        }
    }

    /// Appends lists or vectors of a block, by their numbers in it, `None` for null.
    ///
    /// # Panics
    /// The column does, once it is read, if there is no such list.
    pub fn extend_float_lists(
        &mut self,
        block: &Arc<FloatBlock>,
        lists: impl ExactSizeIterator<Item = Option<u32>>,
    ) {
        if lists.len() == 0 {
            return;
        }
        self.forget_packing();
        match self {
            Self::Same(Value::Null, rows) => *self = Self::FloatLists(FloatLists::nulls(*rows)),
            // Lists that are not settled yet came first.
            Self::Values(all) => {
                if let Some(lists) = FloatLists::of(all) {
                    *self = Self::FloatLists(lists);
                }
            }
            _ => {}
        }
        if let Self::FloatLists(all) = self {
            all.extend(block, lists);
            return;
        }
        let value = |list| block.value(list as usize);
        let all = self.becomes_values();
        all.extend(lists.map(|list| list.map_or(Value::Null, value)));
    }

    /// Appends so many nulls.
    pub fn push_nulls(&mut self, count: usize) {
        fn nulls<T: Copy + Default>(all: &mut Nullable<T>, count: usize) {
            all.extend(std::iter::repeat_n(None, count));
        }
        by_type!(self, all => nulls(all, count),
            Self::Texts(all) => all.resize(all.len() + count, None),
            Self::Packed(all) => (0..count).for_each(|_| all.push(None)),
            Self::FloatLists(all) => all.push_nulls(count),
            Self::Same(Value::Null, rows) => *rows += count,
            Self::Maps(_) | Self::Same(..) | Self::Values(_) => {
                let all = self.becomes_values();
                all.resize(all.len() + count, Value::Null);
            }
        )
    }

    /// Appends a value.
    pub fn push(&mut self, value: Value) {
        match value {
            Value::Null => self.push_nulls(1),
            Value::Vertex(vertex) if self.becomes::<VertexId>() => self.extend([Some(vertex)]),
            Value::Edge(edge) if self.becomes::<EdgeId>() => self.extend([Some(*edge)]),
            Value::Bool(is) if self.becomes::<bool>() => self.extend([Some(is)]),
            Value::Int(int) if self.becomes::<i64>() => self.extend([Some(int)]),
            Value::Float(float) if self.becomes::<f64>() => self.extend([Some(float)]),
            Value::String(text) => self.extend_texts([Some(&text)]),
            list @ (Value::List(_) | Value::Vector(_)) if let Self::FloatLists(all) = self => {
                if !all.push(&list) {
                    self.becomes_values().push(list);
                }
            }
            other => self.becomes_values().push(other),
        }
    }

    /// Appends the rows of another column.
    pub fn append(&mut self, other: &Self) {
        fn list<T: Element>(to: &mut Column, from: &Nullable<T>) {
            match from.full() {
                Some(all) => to.extend_from_slice(all),
                None => to.extend(from.iter()),
            }
        }
        if self.is_empty() && !matches!(self, Self::Packed(_)) {
            *self = other.clone();
            return;
        }
        by_type!(other, all => list(self, all),
            Self::Texts(all) => self.extend_texts(all.iter().map(Option::as_ref)),
            Self::Packed(all) => match self {
                Self::Packed(own) => all.iter().for_each(|text| own.push(text)),
                _ => all.iter().for_each(|text| self.push(text.map_or(Value::Null, Value::from))),
            },
            Self::FloatLists(all) => match self {
                Self::FloatLists(own) => own.append(all),
                _ => (0..all.len()).for_each(|row| self.push(all.value(row))),
            },
            Self::Maps(all) => {
                let done = if let Self::Maps(own) = self { own.append(all) } else { false };
                if !done {
                    let maps = (0..all.len()).map(|row| all.get(row));
                    self.becomes_values().extend(maps);
                }
            }
            Self::Same(Value::Null, rows) => self.push_nulls(*rows),
            Self::Same(value, rows) => (0..*rows).for_each(|_| self.push(value.clone())),
            Self::Values(all) => {
                if all.iter().all(Value::is_null) {
                    self.push_nulls(all.len());
                } else if let Self::FloatLists(own) = self
                    && let Some(lists) = FloatLists::of(all)
                {
                    own.append(&lists);
                } else {
                    self.becomes_values().extend_from_slice(all);
                }
            }
        )
    }

    /// Replaces the value in a row.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn set(&mut self, row: usize, value: &Value) {
        /// True if the column is, or has become, of the type of the value.
        fn typed<T: Element>(column: &mut Column, row: usize, value: T) -> bool {
            column.becomes::<T>();
            let list = T::list_mut(column);
            list.map(|list| list.set(row, Some(value))).is_some()
        }
        let done = match value {
            Value::Null => return self.set_null(row),
            Value::Vertex(vertex) => typed(self, row, *vertex),
            Value::Edge(edge) => typed(self, row, **edge),
            Value::Bool(is) => typed(self, row, *is),
            Value::Int(int) => typed(self, row, *int),
            Value::Float(float) => typed(self, row, *float),
            Value::String(text) if let Self::Packed(all) = self => {
                all.set(row, Some(text));
                true
            }
            Value::String(text) => {
                let texts = self.becomes_texts();
                texts.map(|texts| texts[row] = Some(Arc::clone(text))).is_some()
            }
            list if let Self::FloatLists(all) = self => all.set(row, list),
            _ => false,
        };
        if !done {
            self.becomes_values()[row] = value.clone();
        }
    }

    fn set_null(&mut self, row: usize) {
        by_type!(self, all => all.set(row, None),
            Self::Texts(all) => all[row] = None,
            Self::Packed(all) => all.set(row, None),
            Self::FloatLists(all) => all.set_null(row),
            Self::Same(Value::Null, rows) => assert!(row < *rows, "no row {row} of {rows}"),
            Self::Maps(_) | Self::Same(..) | Self::Values(_) => {
                self.becomes_values()[row] = Value::Null;
            }
        )
    }
}
