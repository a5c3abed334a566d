"""Telar and Neo4j with the same graph and the same full-text indexes."""

import sys

try:
    import neo4j
except ImportError:
    sys.exit("Neo4j's driver is missing: pip install neo4j")

from queries import FIELDS

ANALYZERS = ["standard-no-stop-words", "standard", "standard-folding", "english", "simple", "stop", "whitespace",
             "unicode_whitespace", "keyword", "cjk"]


class Index:
    def __init__(self, name, analyzer, of_nodes, fields):
        self.name, self.analyzer, self.of_nodes, self.fields = name, analyzer, of_nodes, fields

    def create(self):
        # A label or type that nothing has makes indexes differ: Neo4j refuses two of the same labels and properties.
        pattern = f"(n:Document|{self.name})" if self.of_nodes else f"()-[n:LINK|{self.name}]-()"
        return (f"CREATE FULLTEXT INDEX {self.name} FOR {pattern} ON EACH [{', '.join('n.' + f for f in self.fields)}] "
                f"OPTIONS {{indexConfig: {{`fulltext.analyzer`: '{self.analyzer}'}}}}")

    def ask(self):
        what = "Nodes" if self.of_nodes else "Relationships"
        return (f"CALL db.index.fulltext.query{what}($index, $query, $options) "
                f"YIELD {'node' if self.of_nodes else 'relationship'} AS n, score RETURN n.id, score")


INDEXES = [Index("n_" + analyzer.replace("-", "_"), analyzer, True, FIELDS) for analyzer in ANALYZERS] + [
    Index("n_blank", "keyword", True, ["blank"]),
    Index("n_title", "standard-no-stop-words", True, ["title"]),
    Index("n_english_title", "english", True, ["title"]),
    Index("r_default", "standard-no-stop-words", False, FIELDS),
    Index("r_english", "english", False, ["title"])]


class Server:
    def __init__(self, name, uri):
        self.name = name
        self.driver = neo4j.GraphDatabase.driver(uri, notifications_min_severity="OFF")
        try:
            self.driver.verify_connectivity()
        except (neo4j.exceptions.DriverError, neo4j.exceptions.Neo4jError) as error:
            raise SystemExit(f"{name} does not answer at {uri}: {error}") from None
        self.session = self.driver.session()

    def fill(self, documents):
        for name, in self.session.run("SHOW FULLTEXT INDEXES YIELD name").values():
            self.session.run(f"DROP INDEX `{name}`").consume()
        self.session.run("MATCH (n) DETACH DELETE n").consume()
        self.session.run("UNWIND $rows AS row CREATE (n:Document) SET n = row", rows=documents.nodes).consume()
        self.session.run("UNWIND $rows AS row CREATE (:From)-[r:LINK]->(:To) SET r = row",
                         rows=documents.relationships).consume()
        for index in INDEXES:
            self.session.run(index.create()).consume()
        self.session.run("CALL db.awaitIndexes(60)").consume()

    def answer(self, index, query, options):
        """Hits, best first, as (id, score), or a failure's code."""
        try:
            return self.session.run(index.ask(), {"index": index.name, "query": query, "options": options}).values()
        except neo4j.exceptions.Neo4jError as error:
            self.message = error.message
            return error.code
