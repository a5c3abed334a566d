// The same package by `require`.

import telar = require('telar');

async function main(): Promise<number> {
  const db: telar.Database = await telar.open();
  const rows: telar.Row[] = (await db.query('RETURN 1 AS a')).toArray();
  await db.close();
  return rows.length;
}
void main();
