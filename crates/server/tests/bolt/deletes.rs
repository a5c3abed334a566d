//! Nodes that a transaction deletes before their relationships.

use crate::client::{COMMIT, Client, serve};

const LEFT: &str = "Neo.ClientError.Schema.ConstraintValidationFailed";

/// The commit says what is left, not the statement that deleted the node.
#[test]
fn relationships_that_are_left_fail_the_commit() {
    let server = serve();
    let mut client = Client::new(&server);
    client.rows("CREATE (:A)-[:R]->(:B)");
    assert_eq!(client.run("MATCH (a:A) DELETE a").code(), LEFT);
    client.reset().success();
    for delete_too in [false, true] {
        client.begin().success();
        client.rows("MATCH (a:A) DELETE a");
        assert_eq!(client.int("MATCH (n) RETURN count(n)"), 1);
        assert_eq!(client.int("MATCH ()-[r]->(b:B) RETURN count(r)"), 1);
        if delete_too {
            client.rows("MATCH ()-[r]->(:B) DELETE r");
            client.ask(COMMIT, []).success();
        } else {
            let failure = client.ask(COMMIT, []).failure();
            assert_eq!(failure.get("neo4j_code").text(), LEFT);
            assert_eq!(
                failure.get("message").text(),
                "Cannot delete node<0>, because it still has relationships. To delete this node, \
                 you must first delete its relationships."
            );
            client.reset().success();
            assert_eq!(client.int("MATCH (:A)-[r:R]->(:B) RETURN count(r)"), 1);
        }
    }
    assert_eq!(client.int("MATCH (n) RETURN count(n)"), 1);
}
