// How the server is, and which statements were slow; algorithms with what they take.

import assert from 'node:assert/strict'
import test from 'node:test'

import { open, outcome, run, shot, world } from './world.mjs'

// So that whatever a test runs is slow.
const here = world('--no-auth', '--set', 'log.slow=1ms')

test('slow queries are listed and go back into the editor', async () => {
  const text = 'UNWIND range(1, 300000) AS i RETURN sum(sin(i)) AS slow'
  await here.server.run(text)
  await open(here)
  const { page } = here
  await page.getByRole('button', { name: 'Status' }).click()
  const listed = page.getByRole('region', { name: 'Slow queries' })
  const entry = listed.getByRole('button').filter({ hasText: text })
  await entry.waitFor()
  assert.match(await entry.innerText(), / m?s · 1 row · telar · /)
  await listed.scrollIntoViewIfNeeded()
  await shot(page, 'slow')
  await entry.click()
  assert.equal(await page.locator('.cm-content').innerText(), text)
})

test('a slow query that failed says so, and markup in it is text', async () => {
  const text = "UNWIND range(1, 300000) AS i WITH sum(sin(i)) AS s RETURN '<img src=x onerror=alert(1)>', 1 / toInteger(s * 0)"
  await assert.rejects(here.server.run(text))
  await open(here)
  const { page } = here
  await page.getByRole('button', { name: 'Status' }).click()
  const entry = page.getByRole('region', { name: 'Slow queries' }).getByRole('button').filter({ hasText: '<img src=x' })
  assert.match(await entry.innerText(), / · 0 rows · .* · ArithmeticError$/)
  assert.equal(await page.locator('.panel img').count(), 0)
})

test('an algorithm runs on the database and colours what is shown', async () => {
  await here.server.run(`UNWIND range(0, 19) AS i CREATE (:Member {i: i})
    WITH count(*) AS n MATCH (a:Member), (b:Member) WHERE a.i < b.i AND a.i / 10 = b.i / 10 CREATE (a)-[:TIE]->(b)`)
  await open(here)
  const { page } = here
  await run(page, 'MATCH (m:Member) WHERE m.i % 10 < 3 RETURN m')
  await outcome(page)
  await page.getByRole('tab', { name: 'Graph' }).click()
  await page.getByRole('button', { name: 'Algorithms', exact: true }).click()
  const dialog = page.getByRole('dialog', { name: 'Algorithms' })
  await dialog.getByText(/^6 nodes, 6 relationships: about .* of memory\.$/).waitFor()
  await dialog.getByLabel(/^the database/).check()
  await dialog.getByLabel('Member').check()
  await dialog.getByText(/^20 nodes, 90 relationships: about .* of memory\.$/).waitFor()
  await shot(page, 'algorithm')
  await dialog.getByRole('button', { name: 'Run', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  const legend = page.locator('.graph-scale')
  await legend.getByText('Communities in the database').waitFor()
  assert.equal(await legend.locator('.graph-scale-value').count(), 2)
  await page.getByRole('button', { name: 'Algorithms', exact: true }).click()
  await dialog.getByLabel('Compute').selectOption('Degree')
  await dialog.getByText('of memory').waitFor()
  await dialog.getByRole('button', { name: 'Run', exact: true }).click()
  await legend.getByText('Size: Degree').waitFor()
})
