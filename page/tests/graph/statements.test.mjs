import assert from 'node:assert/strict'
import test from 'node:test'

import { load, node, relationship } from './load.mjs'

const statements = await load('graph/statements')

const HOSTILE = "x`} DETACH DELETE n //"
const a = node('n:0', ['Person', HOSTILE], { name: "O'Neil", [HOSTILE]: 1n })
const b = node('n:1', [], { when: { kind: 'typed', type: 'Date', text: '2026-11-26' } })
const r = relationship('r:0', 'n:0', 'n:1', HOSTILE, { weight: 1 })

test('names are quoted and values are parameters', () => {
  const typed = { expression: '$value', parameter: 1 }
  const texts = [
    statements.setProperty(a, HOSTILE, typed), statements.removeProperty(r, HOSTILE),
    statements.addLabel(a, HOSTILE), statements.removeLabel(a, HOSTILE),
    statements.more('n:0', [], 50, { type: HOSTILE, outgoing: true, labels: [HOSTILE], count: 1 })
  ].map(({ text }) => text)
  for (const text of texts) assert.match(text, /`x``} DETACH DELETE n \/\/`/)
})

test('setting a property of a node and of a relationship', () => {
  const typed = { expression: 'date($value)', parameter: '2026-11-26' }
  assert.deepEqual(statements.setProperty(a, 'born', typed), {
    text: 'MATCH (n) WHERE elementId(n) = $id\nSET n.born = date($value)\nRETURN n',
    parameters: { id: 'n:0', value: '2026-11-26' }
  })
  const set = statements.setProperty(r, 'since', typed)
  assert.ok(set.text.startsWith('MATCH ()-[r]->() WHERE elementId(r) = $id\nSET r.since'))
  assert.deepEqual(set.parameters, { id: 'r:0', value: '2026-11-26' })
})

test('deleting, with and without relationships', () => {
  assert.match(statements.remove(a, false).text, /\nDELETE n$/)
  assert.match(statements.remove(a, true).text, /\nDETACH DELETE n$/)
  assert.match(statements.remove(r, false).text, /\nDELETE r$/)
})

test('groups of a hub have a direction', () => {
  const group = { type: 'KNOWS', outgoing: false, labels: ['Person'], count: 7 }
  const { text, parameters } = statements.more('n:0', ['r:1'], 50, group)
  assert.match(text, /\(n\)<-\[r:KNOWS\]-\(m\)/)
  assert.deepEqual(parameters, { id: 'n:0', shown: ['r:1'], labels: ['Person'] })
})

test('a statement that finds what is shown', () => {
  assert.equal(statements.find({ nodes: [a, b], relationships: [r] }), [
    "UNWIND ['n:0', 'n:1'] AS id",
    'MATCH (n) WHERE elementId(n) = id',
    'WITH collect(n) AS nodes',
    "UNWIND ['r:0'] AS id",
    'MATCH ()-[r]->() WHERE elementId(r) = id',
    'RETURN nodes, collect(r) AS relationships'
  ].join('\n'))
})

test('a statement that makes it once more', () => {
  const text = statements.create({ nodes: [a, b], relationships: [r] })
  assert.match(text, /^CREATE\n {2}\(n0:Person:`x``} DETACH DELETE n \/\/` \{name: 'O\\'Neil'/)
  assert.match(text, /\(n1 \{when: date\('2026-11-26'\)\}\)/)
  assert.match(text, /\(n0\)-\[:`x``} DETACH DELETE n \/\/` \{weight: 1\.0\}\]->\(n1\)$/)
})
