// Searches of vector indexes.

import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from '../load.mjs'

const { called, nearest, numbers, vectorOf } = await load('state/nearest.ts')

const index = { name: "it's", type: 'VECTOR', entity: 'NODE', of: ['Doc'], properties: ['v'], state: 'ONLINE', dimensions: 3 }
const node = (properties, labels = ['Doc']) => ({ kind: 'node', id: '4:x:1', labels, properties })
const relationship = properties => ({ kind: 'relationship', id: '5:x:2', type: 'R', start: '4:x:1', end: '4:x:3', properties })

test('numbers are read as people paste them', () => {
  assert.deepEqual(numbers('[1, 2.5, -3e-1]', 3), [1, 2.5, -0.3])
  assert.deepEqual(numbers(' 1 2\n.5\t', undefined), [1, 2, 0.5])
  assert.throws(() => numbers('', 3), /Paste/)
  assert.throws(() => numbers('[]', 3), /Paste/)
  assert.throws(() => numbers('[1, 2]', 3), /There are 2 numbers; vectors of the index have 3/)
  for (const bad of ['1, x, 2', 'NaN', '[1 [2', 'Infinity', '0x10', "1'); MATCH (n) DETACH DELETE n //"]) {
    assert.throws(() => numbers(bad, undefined), /is not a number/, bad)
  }
  assert.throws(() => numbers('1e999', 1), /too large/)
})

test('the vector of an element is the property of the index, or another one of its length', () => {
  assert.equal(vectorOf(node({ v: [1, 2, 3] }), index), 'v')
  assert.equal(vectorOf(node({ w: [1, 2, 3], v: [1, 2] }), index), 'w')
  assert.equal(vectorOf(node({ v: { kind: 'typed', type: 'Vector', text: '[1, 2, 3]' } }), index), 'v')
  for (const wrong of [{}, { v: 'x' }, { v: [] }, { v: ['a', 'b', 'c'] }, { v: [1, 2] }]) {
    assert.equal(vectorOf(node(wrong), index), undefined)
  }
})

test('numbers are a parameter, and names are quoted', () => {
  const { text, parameters } = nearest(index, { numbers: [1, 2, 3] }, 5)
  assert.equal(text, "CALL db.index.vector.queryNodes('it\\'s', 5, $vector)\nYIELD node, score\nRETURN node, score")
  assert.deepEqual(parameters, { vector: [1, 2, 3] })
})

test('what is near to a node is searched for without the node', () => {
  const { text } = nearest(index, { element: node({}), property: 'a b' }, 5)
  assert.match(text, /^MATCH \(n\) WHERE elementId\(n\) = '4:x:1'\n/)
  assert.match(text, /queryNodes\('it\\'s', 6, n\.`a b`\)\nYIELD node, score\nWHERE node <> n\nRETURN node, score LIMIT 5$/)
})

test('and so with relationships, also from one to the other', () => {
  const of = { ...index, entity: 'RELATIONSHIP' }
  const same = nearest(of, { element: relationship({}), property: 'v' }, 5).text
  assert.match(same, /^MATCH \(\)-\[l\]->\(\) WHERE elementId\(l\) = '5:x:2'\n/)
  assert.match(same, /queryRelationships\('it\\'s', 6, l\.v\)\nYIELD relationship AS r, score\nWHERE r <> l/)
  const other = nearest(of, { element: node({}), property: 'v' }, 5).text
  assert.match(other, /queryRelationships\('it\\'s', 5, n\.v\)\nYIELD relationship AS r, score\nRETURN startNode/)
})

test('an element has a name to be known by', () => {
  assert.equal(called(node({ n: 1n, title: 'Silk' })), '(:Doc) Silk')
  assert.equal(called(relationship({})), '(:R) 5:x:2')
})
