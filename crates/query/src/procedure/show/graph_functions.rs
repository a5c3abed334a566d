//! Functions that ask the graph or `LOAD CSV`, as `SHOW FUNCTIONS` shows them: the table of
//! functions has only those on values.

/// Name, category, signature and description.
pub(super) const FUNCTIONS: [(&str, &str, &str, &str); 16] = [
    (
        "apoc.any.property",
        "Scalar",
        "(thing :: NODE | RELATIONSHIP | MAP, key :: STRING) :: ANY",
        "The property of this name.",
    ),
    ("elementId", "Scalar", "(input :: NODE | RELATIONSHIP) :: STRING", "An identity as text."),
    ("endNode", "Scalar", "(input :: RELATIONSHIP) :: NODE", "Where a relationship ends."),
    ("exists", "Predicate", "(input :: PATTERN) :: BOOLEAN", "Whether a pattern matches."),
    ("file", "LOAD CSV", "() :: STRING", "The path of the file that the row was read from."),
    (
        "gds.graph.exists",
        "Predicate",
        "(graphName :: STRING) :: BOOLEAN",
        "Whether a graph of this name exists.",
    ),
    (
        "gds.graph.project",
        "Aggregating",
        "(graphName :: STRING, sourceNode :: NODE | INTEGER, targetNode :: NODE | INTEGER, \
         dataConfig :: MAP, configuration :: MAP) :: MAP",
        "Names a graph of the pairs of all rows.",
    ),
    ("gds.util.asNode", "Scalar", "(nodeId :: INTEGER) :: NODE", "The node of a number, or null."),
    (
        "gds.util.asNodes",
        "List",
        "(nodeIds :: LIST<INTEGER>) :: LIST<NODE>",
        "The nodes of numbers; null where there is none.",
    ),
    ("id", "Scalar", "(input :: NODE | RELATIONSHIP) :: INTEGER", "An identity as a number."),
    (
        "keys",
        "List",
        "(input :: NODE | RELATIONSHIP | MAP) :: LIST<STRING>",
        "Names of properties.",
    ),
    ("labels", "List", "(input :: NODE) :: LIST<STRING>", "The labels of a node."),
    ("linenumber", "LOAD CSV", "() :: INTEGER", "The line of the file that the row begins at."),
    (
        "properties",
        "Scalar",
        "(input :: NODE | RELATIONSHIP | MAP) :: MAP",
        "All properties as a map.",
    ),
    ("startNode", "Scalar", "(input :: RELATIONSHIP) :: NODE", "Where a relationship begins."),
    ("type", "Scalar", "(input :: RELATIONSHIP) :: STRING", "The type of a relationship."),
];
