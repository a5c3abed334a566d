import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from '../load.mjs'

const { command, inferred, read, statement } = await load('state/files.ts')

test('types are the narrowest that all values have', () => {
  assert.equal(inferred(['1', '-2']), 'integer')
  assert.equal(inferred(['1', '2.5', '1e9']), 'float')
  assert.equal(inferred(['007']), 'string')
  assert.equal(inferred(['0', '0.5']), 'float')
  assert.equal(inferred(['true', 'False']), 'boolean')
  assert.equal(inferred(['2026-11-26']), 'date')
  assert.equal(inferred(['2026-11-26T10:00:00Z', '2026-11-26 10:00']), 'datetime')
  assert.equal(inferred(['1', 'x']), 'string')
  assert.equal(inferred([]), 'string')
  assert.equal(inferred(['9223372036854775808000']), 'float')
})

const columns = [{ name: 'id', type: 'integer' }, { name: 'full name', type: 'string' }, { name: 'x', type: 'skip' }]

test('statements name what they make', () => {
  assert.equal(statement(columns, { kind: 'nodes', label: 'Per`son', key: 0 }),
    'UNWIND $rows AS row\nMERGE (n:`Per``son` {id: toInteger(row[0])})\nSET n.`full name` = row[1]\nRETURN count(n) AS done')
  assert.equal(statement(columns, { kind: 'nodes', label: 'A', key: undefined }),
    'UNWIND $rows AS row\nCREATE (n:A)\nSET n.id = toInteger(row[0]),\n    n.`full name` = row[1]\nRETURN count(n) AS done')
  const from = { label: 'A', property: 'id', column: 0 }
  assert.match(statement(columns, { kind: 'relationships', type: 'T', from, to: from }), /CREATE \(a\)-\[r:T\]->\(b\)\nSET r/)
  const said = command({ file: { name: "o'x.csv" }, columns }, { kind: 'nodes', label: 'A', key: undefined })
  assert.match(said, /FROM 'file:\/\/\/o\\\\'x\.csv'/)
  assert.match(said, /row\.\\`full name\\`/)
})

test('a parquet file that is none is an error', async () => {
  await assert.rejects(read(new File(['nothing'], 'x.parquet')))
})
