import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from '../load.mjs'

const { contextAt } = await load('editor/context.ts')

// What may stand where | is.
function expected (text) {
  const cursor = text.indexOf('|')
  return contextAt(text.replace('|', ''), cursor)
}

const CASES = [
  ['MATCH (n:|', 'label'],
  ['MATCH (n:Per|', 'label'],
  ['MATCH (:A&|', 'label'],
  ['MATCH (n) WHERE n:|', 'label'],
  ['MATCH ()-[:|', 'type'],
  ['RETURN $|', 'parameter'],
  ['RETURN $na|', 'parameter'],
  ['CALL |', 'procedure'],
  ['CALL db.la|', 'procedure'],
  ['CALL db.|', 'procedure'],
  ['RET|', 'name'],
  ['MATCH (n) |', 'name']
]

for (const [text, kind] of CASES) {
  test(`${text} expects a ${kind}`, () => {
    const at = text.lastIndexOf('|')
    assert.equal(contextAt(text.slice(0, at), at)?.expected.kind, kind)
  })
}

test('a property is one of its variable', () => {
  assert.deepEqual(expected('MATCH (p:Person)-[k:KNOWS]->(q) WHERE p.|').expected, { kind: 'property', of: ['Person'] })
  assert.deepEqual(expected('MATCH (p:Person)-[k:KNOWS]->(q) WHERE k.si|').expected, { kind: 'property', of: ['KNOWS'] })
  assert.deepEqual(expected('MATCH (p:A:B {|').expected, { kind: 'property', of: ['B', 'A'] })
  assert.deepEqual(expected('MATCH (p:`A B` {x: 1, y|').expected, { kind: 'property', of: ['A B'] })
  assert.deepEqual(expected('RETURN q.|').expected, { kind: 'property', of: [] })
})

test('what a procedure yields', () => {
  assert.deepEqual(expected('CALL db.labels() YIELD |').expected, { kind: 'yield', procedure: 'db.labels' })
  assert.deepEqual(expected('CALL a.b(1, [2]) YIELD x, |').expected, { kind: 'yield', procedure: 'a.b' })
})

test('nothing is offered in texts and comments', () => {
  assert.equal(expected("RETURN 'n:|"), undefined)
  assert.equal(expected('RETURN 1 // n:|'), undefined)
  assert.equal(expected('/* n:|'), undefined)
  assert.equal(expected("RETURN 'a//b', n|")?.expected.kind, 'name')
})

test('only the statement counts in which the cursor is', () => {
  const found = expected('MATCH (a:A); MATCH (b:B) RETURN |')
  assert.deepEqual(found.variables, ['b'])
  assert.equal(found.from, 'MATCH (a:A); MATCH (b:B) RETURN '.length)
})

test('aliases are variables', () => {
  assert(expected('MATCH (n) WITH count(n) AS all RETURN |').variables.includes('all'))
})
