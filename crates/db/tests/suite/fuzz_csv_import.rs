//! The entry point of the fuzz target `csv_import`, on random and on nearly valid bytes.

use crate::random;

#[path = "../../../../fuzz/entry/csv_import.rs"]
mod entry;

#[test]
fn csv_files_take_any_bytes() {
    let valid: Vec<Vec<u8>> = [
        "\0id:ID,name,born:date,:LABEL\n1,Ada,1815-12-10,A;B\n2,\"B, \"\"b\"\"\",,\n\
         \0:START_ID,:END_ID,since:int\n1,2,1840\n2,2,\n",
        "\x02:ID(S),x:double,l:int[],p:point\r\n7,1.25,1;2,\"{x: 1, y: 2}\"\r\n-3,,,\r\n\
         \0:END_ID(S),:TYPE,:START_ID(S)\r\n7,T,-3\r\n",
        "\x01a:ID{id-type:long}, b:boolean ,c:duration\n 1 ,true, P1D\n",
        "\x0eid:ID,x\n1,a\n2,b\n1,c\n\0:START_ID,:END_ID\n1,2\n",
        "\x04id:ID(a),x\n1,a\n\0:START_ID(a),:END_ID(a)\n1,1\n",
        "\x03\u{feff}:ID,t:time,d:datetime\n1,12:00Z,2020-01-01T00:00:00Z\n",
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .collect();
    random::run(4, 400, 60, &valid, entry::csv_import);
}
