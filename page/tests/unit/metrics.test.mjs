import assert from 'node:assert/strict'
import test from 'node:test'

import { load } from '../load.mjs'

const { histogram, quantile, samples, sum } = await load('panel/metrics.ts')

const TEXT = (a, b) => `# HELP x Something.
# TYPE x counter
x_total{protocol="http",outcome="a \\"b\\""} 3
x_total{protocol="bolt"} 4
t_bucket{le="0.1"} ${a}
t_bucket{le="1.0"} ${a + b}
t_bucket{le="+Inf"} ${a + b}
# EOF
`

test('samples are read with their labels', () => {
  const all = samples(TEXT(1, 1))
  assert.equal(all[0].labels.outcome, 'a "b"')
  assert.equal(sum(all, 'x_total'), 7)
  assert.equal(sum(all, 'x_total', { protocol: 'bolt' }), 4)
  assert.equal(sum(all, 'y_total'), 0)
})

test('quantiles are of what came between two looks', () => {
  const found = histogram(samples(TEXT(5, 0)), samples(TEXT(5, 10)), 't_seconds'.replace('_seconds', ''))
  assert.deepEqual(found.counts, [0, 10, 10])
  assert.equal(quantile(found, 0.5), 0.1 + 0.9 * 0.5)
  assert(Number.isNaN(quantile(histogram(samples(TEXT(5, 0)), samples(TEXT(5, 0)), 't'), 0.5)))
})
