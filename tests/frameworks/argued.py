"""What may differ between Telar and Neo4j in recordings of the frameworks' cases, each with its reason.

ARGUED: (cases, part of the text of a statement, what is not compared, reason). What: "rows", "counters" or "failure", a
set of columns, a number: how near scores have to be instead, a function that makes of a value what is compared, or
"sent", of statements that one server was not sent. An entry counts where answers differ without it; what it does not
name is still compared.

OPEN: the same, where Telar is to be mended. An entry fails once nothing differs.
"""


def without_counts(value):
    """A graph's schema without numbers of relationships of each label, and `unique` of their properties."""
    if not isinstance(value, dict):
        return value
    value = {name: without_counts(part) for name, part in value.items()}
    if "direction" in value or value.get("type") == "relationship":
        value["properties"] = {name: {**of, "unique": False} for name, of in value["properties"].items()}
    return {**value, "count": 0} if "direction" in value else value


def without_numbers(value):
    """Types of relationships without how many there are."""
    return [{**of, "count": 0} for of in value] if isinstance(value, list) else value


def without_labels(value):
    """A graph's schema without other labels of labels, and with the labels behind relationships once."""
    if not isinstance(value, dict):
        return value
    value = {name: without_labels(part) for name, part in value.items()}
    if value.get("type") == "node":
        return {**value, "labels": []}
    return {**value, "labels": sorted(set(value["labels"]))} if "direction" in value else value


ARGUED = [
    (".*", r"\b(apoc\.(merge|create|refactor|periodic)|db\.create\.set|db\.index\.vector\.create)", "counters",
     "what procedures write counts among a statement's counters, which Neo4j leaves out (docs/apoc.md)"),
    (".*", r"dbms\.components", "rows", "versions (COMPAT.md)"),
    (".*", r"^SHOW (CONSTRAINTS|INDEXES|FULLTEXT|VECTOR|RANGE)", {"id"},
     "ids of indexes and constraints are the store's own"),
    (".*", r"^SHOW (INDEXES|FULLTEXT|VECTOR|RANGE)", {"readCount", "lastRead", "trackedSince"},
     "reads of indexes are not counted (COMPAT.md)"),
    (".*", r"(?i)\bid\(\w+\)( as (\w+_id|id|source|target)\b|$)",
     {"node_id", "edge_id", "target_id", "internal_id", "id", "source", "target", "id(n)"},
     "id() is a number of the store's own (COMPAT.md)"),
    (".*", r"RETURN COLLECT\(ID\(n\)\) AS ids", {"ids"}, "id() is a number of the store's own (COMPAT.md)"),
    (".*", r"gds\.wcc\.stream", {"componentId"}, "numbers of components are made from ids"),
    (".*", r"apoc\.meta\.(graph|subGraph)", {"nodes"}, "nodes that exist in no graph are maps (docs/apoc.md)"),
    (".*", r"apoc\.meta\.subGraph", without_numbers,
     "Neo4j counts a type's relationships at one label, Telar those that lead from label to label (docs/cypher.md)"),
    (".*", r"apoc\.meta\.schema", without_counts,
     "relationships are counted at both ends, and may be unique (docs/apoc.md)"),
    (".*", r"apoc\.merge\.relationship.* RETURN elementId\(rel\)$", {"elementId(rel)"},
     "ids of relationships that are merged away later: Telar may give them to those that follow (COMPAT.md)"),
    ("graphiti::episodes_removed", r"db\.index\.fulltext\.query", 0.25,
     "after deletes Lucene counts deleted documents until it merges segments; Telar does not (docs/search.md)"),
    (".*", r"db\.index\.vector\.query", 5e-3,
     "Neo4j's scores are those of numbers quantized to a byte; Telar ranks by what was set (docs/search.md)"),
]

OPEN = [
    ("langchain::.*", r"apoc\.schema\.nodes", {"valuesSelectivity"},
     "apoc.schema.nodes: valuesSelectivity of an empty index is 0 here, 1 there"),
    ("langchain::.*", r"DETACH DELETE n } IN TRANSACTIONS", "sent",
     "IN TRANSACTIONS in an explicit transaction is refused here also without rows; langchain sends it again"),
    ("mcp::.*", r"apoc\.meta\.schema", without_labels,
     "apoc.meta.schema: names other labels of a label here, none there; labels of both ends once, there for each end"),
    ("cognee::.*", r"gds\.graph\.drop",
     {"nodeProjection", "relationshipProjection", "configuration", "database", "databaseLocation", "memoryUsage",
      "sizeInBytes", "density", "degreeDistribution", "schema", "schemaWithOrientation", "creationTime",
      "modificationTime"}, "gds.graph.drop: has three columns more than there, and another order of them"),
    ("mem0::.*", r"r\.invalidated_at = null", "counters",
     "properties-set: of several properties of one element in a SET, Neo4j counts removals of what was not there"),
]
