//! The entry points of the fuzz targets `bolt` and `websocket`, on random and on nearly valid
//! bytes.

#[path = "../../../../fuzz/entry/bolt.rs"]
mod entry;
#[path = "../../../../fuzz/entry/random.rs"]
mod random;
#[path = "../../../../fuzz/entry/websocket.rs"]
mod websocket_entry;

use crate::client::{PULL, RUN, framed};
use crate::data::{Data, map};
use crate::web::{BINARY, CLOSE, PING, frame, request};

#[test]
fn bolt_takes_any_bytes() {
    let parameters = map([
        ("list", Data::List(vec![Data::Null, Data::Float(1.5), Data::Bytes(vec![1])])),
        ("at", Data::Structure(b'I', vec![1.into(), 2.into(), 3600.into()])),
        ("zone", Data::Structure(b'i', vec![1.into(), 2.into(), "Europe/Paris".into()])),
        ("for", Data::Structure(b'E', vec![1.into(), 2.into(), 3.into(), 4.into()])),
        ("point", Data::Structure(b'X', vec![7203.into(), Data::Float(1.0), Data::Float(2.0)])),
    ]);
    let run = Data::Structure(RUN, vec!["RETURN 1".into(), parameters, map([])]);
    let pull = Data::Structure(PULL, vec![map([("n", (-1).into()), ("qid", 1.into())])]);
    let mut bare = Vec::new();
    run.write(&mut bare);
    let handshake = [[0x60, 0x60, 0xB0, 0x17], [0, 0, 1, 0xFF], [0, 8, 8, 5], [0; 4], [0; 4]];
    let choice = [0, 0, 8, 5, 0x80, 0];
    let valid = [
        bare,
        [framed(&run), framed(&pull), framed(&Data::Structure(0x0F, vec![]))].concat(),
        [handshake.as_flattened(), &choice].concat(),
    ];
    random::run(3, 5_000, 60, &valid, entry::bolt);
}

#[test]
fn websockets_take_any_bytes() {
    let frames = [
        frame(BINARY & 0x7F, &[1; 300]),
        frame(PING, b"ping"),
        frame(0x80, &[2; 3]),
        frame(BINARY, &[]),
        frame(CLOSE, &[0x03, 0xE8, b'x']),
    ];
    let valid = [frames.concat(), request("Host: localhost").into_bytes()];
    random::run(5, 5_000, 60, &valid, websocket_entry::websocket);
}
