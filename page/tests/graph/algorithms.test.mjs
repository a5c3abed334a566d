// Statements of algorithms, and what is said of them before they run.

import assert from 'node:assert/strict'
import test from 'node:test'

import { load, node, relationship } from './load.mjs'

const {
  algorithmOf, compute, estimate, estimateOf, isGroup, readable, scoreName, scoreTitle, warning, written
} = await load('graph/algorithms.ts')

const a = node('n:0', ['Person'])
const b = node('n:1')
const r = relationship('r:0', 'n:0', 'n:1')
const SHOWN = { kind: 'shown' }
const louvain = algorithmOf('communities')
const pagerank = algorithmOf('pagerank')

test('an algorithm gets the graph that is shown', () => {
  const { text, parameters } = compute(louvain, SHOWN, { nodes: [a, b], relationships: [r] })
  assert.match(text, /algo\.louvain\(\{nodes: \$labels, pairs: pairs, orientation: 'UNDIRECTED'\}\)/)
  assert.deepEqual(parameters, { pairs: [['n:0', 'n:1']], labels: '*', nodes: ['n:0', 'n:1'] })
  assert.deepEqual(compute(pagerank, SHOWN, { nodes: [a], relationships: [] }).parameters.labels, ['Person'])
})

test('or what was chosen of the database, and answers for what is shown', () => {
  const scope = { kind: 'database', labels: ['A', '`'], types: [] }
  const { text, parameters } = compute(pagerank, scope, { nodes: [a], relationships: [r] })
  assert.match(text, /^CALL algo\.pageRank\(\{nodes: \$labels, relationships: \$types\}\)/)
  assert.match(text, /WHERE id IN \$nodes/)
  assert.deepEqual(parameters, { labels: ['A', '`'], types: '*', nodes: ['n:0'] })
})

test('an estimate is asked of the same graph', () => {
  const scope = { kind: 'database', labels: [], types: ['R'] }
  const asked = estimate(louvain, scope, { nodes: [a], relationships: [r] })
  assert.match(asked.text, /^CALL algo\.louvain\.estimate\(\{nodes: \$labels, relationships: \$types, orientation: 'UNDIRECTED'\}\)/)
  assert.deepEqual(asked.parameters, { labels: '*', types: ['R'] })
  const shown = estimate(louvain, SHOWN, { nodes: [a, b], relationships: [r] })
  assert.match(shown.text, /collect\(\[a, b\]\) AS pairs CALL algo\.louvain\.estimate\(/)
  assert.deepEqual(estimateOf(pagerank, [4n, 6n, 600n, null]), { nodes: 4, relationships: 6, bytes: 600, limit: undefined })
  assert.deepEqual(estimateOf(louvain, [4n, 6n, 600n, 700n]), { nodes: 4, relationships: 3, bytes: 600, limit: 700 })
  assert.equal(estimateOf(louvain, undefined), undefined)
})

test('what does not fit and what takes long is said', () => {
  const of = more => ({ nodes: 10, relationships: 10, bytes: 100, limit: undefined, ...more })
  assert.equal(warning(louvain, of({})), undefined)
  assert.equal(warning(louvain, of({ limit: 100 })), undefined)
  assert.match(warning(louvain, of({ limit: 99 })), /more than the 99 bytes that a statement may hold/)
  const large = of({ nodes: 1e6, relationships: 1e7 })
  assert.equal(warning(louvain, large), undefined)
  assert.match(warning(algorithmOf('betweenness'), large), /hours/)
})

test('scores of the database are others than those of what is shown', () => {
  const whole = { kind: 'database', labels: [], types: [] }
  assert.notEqual(scoreName(louvain, whole), scoreName(louvain, SHOWN))
  assert(isGroup(scoreName(louvain, whole)) && isGroup('communities') && !isGroup('pagerank'))
  assert.equal(scoreTitle(scoreName(pagerank, whole)), 'PageRank in the database')
  assert.equal(scoreTitle('communities'), 'Communities')
})

test('bytes as people read them', () => {
  assert.deepEqual([0, 1023, 1024, 1536 * 1024, 2 ** 50].map(readable), ['0 bytes', '1023 bytes', '1.0 KiB', '1.5 MiB', '1024 TiB'])
})

test('the statement for the editor quotes what has to be', () => {
  assert.equal(written(louvain, { labels: ["O'Neil"], types: [] }),
    "CALL algo.louvain({nodes: ['O\\'Neil'], orientation: 'UNDIRECTED'})\nYIELD node, communityId\n" +
    'RETURN communityId, count(*) AS members ORDER BY members DESC LIMIT 25')
  assert.match(written(pagerank, { labels: [], types: [] }), /^CALL algo\.pageRank\(\{\}\)\nYIELD node, score\nRETURN node, score ORDER BY score DESC/)
})
