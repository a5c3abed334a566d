// Captions that do not lie over each other.

import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from './load.mjs'

const { ALWAYS, captionBox, captions, overlap } = await load('graph/captions.ts')

const node = (id, x, y, more = {}) => ({ id, x, y, radius: 5, width: 60, rank: 0, degree: 0, ...more })

test('captions that have room are drawn, all of them', () => {
  assert.deepEqual([...captions([])], [])
  assert.deepEqual([...captions([node('a', 0, 0)])], ['a'])
  const apart = Array.from({ length: 50 }, (_, at) => node(`n${at}`, at * 70, 0))
  assert.equal(captions(apart).size, 50)
})

test('of two in the same place the one of more weight is drawn', () => {
  const two = more => [...captions([node('a', 0, 0), node('b', 20, 0, more)])]
  assert.deepEqual(two({}), ['a'])
  assert.deepEqual(two({ degree: 3 }), ['b'])
  assert.deepEqual(two({ radius: 9 }), ['b'])
  assert.deepEqual(two({ rank: 1 }), ['b'])
})

test('what is selected is drawn in any case, and what is empty or too small never', () => {
  const both = [node('a', 0, 0, { rank: ALWAYS }), node('b', 0, 0, { rank: ALWAYS })]
  assert.equal(captions(both).size, 2)
  assert.equal(captions([node('a', 0, 0, { width: 0, rank: ALWAYS })]).size, 0)
  assert.equal(captions([node('a', 0, 0, { radius: 1 })]).size, 0)
})

test('no caption lies over the middle of another node, but of one that is less connected', () => {
  const below = degree => captions([node('a', 0, 0, { degree }), node('b', 10, 15)])
  assert.deepEqual([...below(0)], ['b'])
  assert.deepEqual([...below(1)], ['a', 'b'])
})

test('in a dense place no two captions overlap, and not none are drawn', () => {
  let state = 5
  const random = () => (state = (state * 1664525 + 1013904223) >>> 0) / 2 ** 32
  const dense = Array.from({ length: 1500 }, (_, at) => node(`n${at}`, random() * 900 - 100, random() * 700 - 100))
  const chosen = captions(dense)
  assert(chosen.size > 20)
  const boxes = dense.filter(({ id }) => chosen.has(id)).map(captionBox)
  for (const [at, box] of boxes.entries()) {
    assert(!boxes.slice(at + 1).some(other => overlap(box, other)))
  }
})
