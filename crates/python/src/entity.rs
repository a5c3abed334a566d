//! Nodes, relationships and paths, as they were when the statement read them.

use std::sync::Arc;

use pyo3::exceptions::PyKeyError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyFrozenSet};
use telar_db::query::{self, Columns};
use telar_db::{EdgeId, ValueMap, VertexId, value};

use crate::value::{map_to_python, to_python};

/// Access to properties, which nodes and relationships share.
macro_rules! properties {
    ($class:ident) => {
        #[pymethods]
        impl $class {
            /// All properties.
            #[getter]
            fn properties<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
                map_to_python(py, self.map(), &self.columns)
            }

            /// A property, or `default` if it has none of this name.
            #[pyo3(signature = (key, default = None))]
            fn get<'py>(
                &self,
                py: Python<'py>,
                key: &str,
                default: Option<Bound<'py, PyAny>>,
            ) -> PyResult<Bound<'py, PyAny>> {
                match self.map().get(key) {
                    Some(value) => to_python(py, value, &self.columns),
                    None => Ok(default.unwrap_or_else(|| py.None().into_bound(py))),
                }
            }

            /// Names of the properties.
            fn keys(&self) -> Vec<&str> {
                self.map().keys().map(|key| &**key).collect()
            }

            fn __getitem__<'py>(&self, py: Python<'py>, key: &str) -> PyResult<Bound<'py, PyAny>> {
                match self.map().get(key) {
                    Some(value) => to_python(py, value, &self.columns),
                    None => Err(PyKeyError::new_err(key.to_owned())),
                }
            }

            fn __contains__(&self, key: &str) -> bool {
                self.map().contains_key(key)
            }

            fn __len__(&self) -> usize {
                self.map().len()
            }

            fn __bool__(&self) -> bool {
                true
            }

            fn __iter__(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
                let keys = slf.get().keys().into_pyobject(slf.py())?;
                Ok(keys.try_iter()?.into_any().unbind())
            }
        }
    };
}

/// A node.
///
/// >>> import telar
/// >>> ada = telar.open().query("CREATE (p:Person {name: 'Ada'}) RETURN p").value()
/// >>> ada.labels, ada["name"], ada.get("born")
/// (frozenset({'Person'}), 'Ada', None)
/// >>> ada
/// <Node 0 :Person {'name': 'Ada'}>
#[pyclass(frozen, module = "telar")]
pub(crate) struct Node {
    vertex: VertexId,
    node: Arc<query::Node>,
    columns: Arc<Columns>,
}

impl Node {
    pub(crate) fn new(vertex: VertexId, columns: &Arc<Columns>) -> Self {
        let node = columns.node(vertex).cloned().unwrap_or_default();
        Self { vertex, node, columns: Arc::clone(columns) }
    }

    fn map(&self) -> &ValueMap {
        &self.node.properties
    }
}

properties!(Node);

#[pymethods]
impl Node {
    /// Its number, as `id()` in Cypher.
    #[getter]
    fn id(&self) -> u64 {
        self.vertex.get()
    }

    /// Its identity as text, as `elementId()` in Cypher.
    #[getter]
    fn element_id(&self) -> String {
        query::element_id_of_vertex(self.vertex)
    }

    /// Its labels.
    #[getter]
    fn labels<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyFrozenSet>> {
        PyFrozenSet::new(py, &self.node.labels)
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().vertex == self.vertex)
    }

    fn __hash__(&self) -> u64 {
        self.vertex.get()
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let labels = self.node.labels.iter().map(|label| format!(":{label}"));
        let properties = self.properties(py)?.repr()?.to_string();
        Ok(format!("<Node {} {} {properties}>", self.vertex.get(), labels.collect::<String>()))
    }
}

/// A relationship.
///
/// >>> import telar
/// >>> r = telar.open().query("CREATE (:A)-[r:KNOWS {since: 1840}]->(:A) RETURN r").value()
/// >>> r.type, r["since"], r.start_id, r.end_id
/// ('KNOWS', 1840, 0, 1)
#[pyclass(frozen, module = "telar")]
pub(crate) struct Relationship {
    edge: EdgeId,
    relationship: Arc<query::Relationship>,
    columns: Arc<Columns>,
}

impl Relationship {
    pub(crate) fn new(edge: EdgeId, columns: &Arc<Columns>) -> Self {
        let relationship = columns.relationship(&edge).cloned().unwrap_or_default();
        Self { edge, relationship, columns: Arc::clone(columns) }
    }

    fn map(&self) -> &ValueMap {
        &self.relationship.properties
    }
}

properties!(Relationship);

#[pymethods]
impl Relationship {
    /// Its number, as `id()` in Cypher.
    #[getter]
    fn id(&self) -> i64 {
        query::number_of_edge(&self.edge)
    }

    /// Its identity as text, as `elementId()` in Cypher.
    #[getter]
    fn element_id(&self) -> String {
        query::element_id_of_edge(&self.edge)
    }

    /// Its type.
    #[getter]
    fn r#type(&self) -> &str {
        &self.relationship.ty
    }

    /// Number of the node that it leaves.
    #[getter]
    fn start_id(&self) -> u64 {
        self.edge.src.get()
    }

    /// Number of the node that it leads to.
    #[getter]
    fn end_id(&self) -> u64 {
        self.edge.dst.get()
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().edge == self.edge)
    }

    fn __hash__(&self) -> u64 {
        crate::duration::hash_of(&self.edge)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (from, ty, to) = (self.start_id(), self.r#type(), self.end_id());
        let properties = self.properties(py)?.repr()?.to_string();
        Ok(format!("<Relationship ({from})-[:{ty} {properties}]->({to})>"))
    }
}

/// A path: its nodes in order, and the relationships between them.
///
/// >>> import telar
/// >>> path = telar.open().query("CREATE p = (:A)-[:TO]->(:B) RETURN p").value()
/// >>> len(path), [node.id for node in path.nodes], [r.type for r in path.relationships]
/// (1, [0, 1], ['TO'])
#[pyclass(frozen, module = "telar")]
pub(crate) struct Path {
    path: Arc<value::Path>,
    columns: Arc<Columns>,
}

impl Path {
    pub(crate) fn new(path: &Arc<value::Path>, columns: &Arc<Columns>) -> Self {
        Self { path: Arc::clone(path), columns: Arc::clone(columns) }
    }
}

#[pymethods]
impl Path {
    /// Its nodes, one more than relationships.
    #[getter]
    fn nodes(&self) -> Vec<Node> {
        self.path.vertices().iter().map(|vertex| Node::new(*vertex, &self.columns)).collect()
    }

    /// Its relationships, each as it is stored, whichever way the path goes.
    #[getter]
    fn relationships(&self) -> Vec<Relationship> {
        self.path.edges().iter().map(|edge| Relationship::new(*edge, &self.columns)).collect()
    }

    fn __len__(&self) -> usize {
        self.path.edges().len()
    }

    fn __bool__(&self) -> bool {
        true
    }

    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| other.get().path == self.path)
    }

    fn __hash__(&self) -> u64 {
        crate::duration::hash_of(&(self.path.vertices(), self.path.edges()))
    }

    fn __repr__(&self) -> String {
        let mut text = format!("<Path ({})", self.path.vertices()[0].get());
        for (edge, to) in self.path.edges().iter().zip(&self.path.vertices()[1..]) {
            let forward = edge.dst == *to;
            let relationship = Relationship::new(*edge, &self.columns);
            let (before, after) = if forward { ("-", "->") } else { ("<-", "-") };
            text += &format!("{before}[:{}]{after}({})", relationship.r#type(), to.get());
        }
        text + ">"
    }
}
