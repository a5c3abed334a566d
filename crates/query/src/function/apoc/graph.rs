//! Functions of APOC that read the graph, as `SHOW FUNCTIONS` shows them; `exec/eval/apoc.rs`
//! computes them.

/// A function that reads the graph.
pub(crate) struct ApocFunction {
    pub(crate) name: &'static str,
    pub(crate) category: &'static str,
    /// Arguments and result, as `SHOW FUNCTIONS` prints them.
    pub(crate) signature: &'static str,
    pub(crate) description: &'static str,
    pub(crate) arity: (usize, usize),
}

pub(crate) static FUNCTIONS: [ApocFunction; 10] = [
    ApocFunction {
        name: "apoc.any.properties",
        category: "Scalar",
        signature: "(thing :: NODE | RELATIONSHIP | MAP, keys = null :: LIST<STRING>) :: MAP",
        description: "The properties, all or those of some keys.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.convert.toJson",
        category: "Scalar",
        signature: "(value :: ANY) :: STRING",
        description: "The value as a JSON text; nodes and relationships as maps.",
        arity: (1, 1),
    },
    ApocFunction {
        name: "apoc.convert.getJsonProperty",
        category: "Scalar",
        signature: "(node :: NODE, key :: STRING, path = '' :: STRING) :: ANY",
        description: "What a property that is a JSON text stands for.",
        arity: (2, 3),
    },
    ApocFunction {
        name: "apoc.node.degree",
        category: "Scalar",
        signature: "(node :: NODE, relTypes = '' :: STRING) :: INTEGER",
        description: "How many relationships of some types and directions a node has.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.node.degree.in",
        category: "Scalar",
        signature: "(node :: NODE, relTypes = '' :: STRING) :: INTEGER",
        description: "How many relationships of some types lead to a node.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.node.degree.out",
        category: "Scalar",
        signature: "(node :: NODE, relTypes = '' :: STRING) :: INTEGER",
        description: "How many relationships of some types leave a node.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.node.relationship.exists",
        category: "Predicate",
        signature: "(node :: NODE, relTypes = '' :: STRING) :: BOOLEAN",
        description: "True if a node has a relationship of some types and directions.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.node.relationship.types",
        category: "List",
        signature: "(node :: NODE, relTypes = '' :: STRING) :: LIST<STRING>",
        description: "The different types of the relationships at a node.",
        arity: (1, 2),
    },
    ApocFunction {
        name: "apoc.node.labels",
        category: "List",
        signature: "(node :: NODE) :: LIST<STRING>",
        description: "The labels of a node.",
        arity: (1, 1),
    },
    ApocFunction {
        name: "apoc.rel.type",
        category: "Scalar",
        signature: "(rel :: RELATIONSHIP) :: STRING",
        description: "The type of a relationship.",
        arity: (1, 1),
    },
];

/// The place of a function in [`FUNCTIONS`], by its name in lower case.
pub(crate) fn find(name: &str) -> Option<u8> {
    let at = FUNCTIONS.iter().position(|function| function.name.eq_ignore_ascii_case(name))?;
    u8::try_from(at).ok()
}

/// The function at a place of [`FUNCTIONS`].
pub(crate) fn function(at: u8) -> &'static ApocFunction {
    &FUNCTIONS[usize::from(at)]
}
