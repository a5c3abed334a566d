// What issue 20 ends with: from an empty database to the most connected person, her neighbourhood, its
// communities, and back in time; by what the page itself says.

import assert from 'node:assert/strict'
import test from 'node:test'

import { open, outcome, run, shot, world } from './world.mjs'

// Nothing is kept of the past, as on a first start.
const here = world('--no-auth', '--set', 'store.retention=as-stored')

const button = name => here.page.getByRole('button', { name, exact: true })
const summary = () => here.page.getByRole('complementary', { name: 'Details' })

test('the tour', async () => {
  await open(here)
  const { page } = here
  await button('Load a sample graph').click()
  await page.getByRole('gridcell', { name: 'Alba Rivas' }).waitFor()
  assert.match(await outcome(page), /^5 rows/)
  await button('Next').click()
  await summary().filter({ hasText: '71 nodes, 208 relationships' }).waitFor()
  await button('Next').click()
  await button('Colours and sizes').click()
  await page.locator('[role^=menuitem]').filter({ hasText: 'Colour by communities' }).click()
  await page.getByText('Communities', { exact: true }).waitFor()
  assert((await page.locator('.graph-scale-value').count()) >= 3)
  await button('Next').click()
  await button('Done').click()
  assert.equal(await page.getByRole('dialog', { name: 'Tour' }).count(), 0)

  await here.server.run("MATCH (p:Person {name: 'Alba Rivas'})-[k:KNOWS]-() DELETE k")
  await button('Now').click()
  const slider = page.getByRole('slider')
  await slider.waitFor()
  await button('Run').click()
  await summary().filter({ hasNotText: '71 nodes, 208 relationships' }).waitFor()
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await page.locator('.outcome').filter({ hasText: '182 rows' }).filter({ hasText: 'as of' }).waitFor()
  // What is there again is marked, and what was not there yet.
  await page.getByText(/\d+ new/).waitFor()
  await page.getByText(/\d+ gone/).waitFor()
  await shot(page, 'tour')
})

test('a node is found, expanded and changed by its details', async () => {
  await here.server.run('MATCH (n) DETACH DELETE n')
  await here.server.run("CREATE (a:City {name: 'Bath', size: 1}), (b:City {name: 'Wells'})-[:ROAD]->(a), (:City {name: 'York'})-[:ROAD]->(b)")
  await open(here)
  const { page } = here
  await page.locator('.cm-content').click()
  await page.keyboard.insertText("MATCH (c:City {name: 'Bath'}) RETURN c")
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Enter')
  await summary().filter({ hasText: '1 node' }).waitFor()
  await page.getByPlaceholder('Find').fill('Bath')
  await page.keyboard.press('Enter')
  await summary().getByText('Bath').first().waitFor()
  await page.getByRole('button', { name: /^Expand/ }).click()
  await page.getByRole('button', { name: /City.*2/ }).first().waitFor()
  await button('Edit size').click()
  const value = summary().getByRole('textbox').last()
  await value.fill('7')
  await page.keyboard.press('Enter')
  await page.getByText('This runs').waitFor()
  assert.deepEqual(await here.server.run("MATCH (c:City {name: 'Bath'}) RETURN c.size"), [[1]])
  await page.getByRole('button', { name: /^Run/ }).last().click()
  await summary().getByText('7', { exact: true }).waitFor()
  assert.deepEqual(await here.server.run("MATCH (c:City {name: 'Bath'}) RETURN c.size"), [[7]])
})

test('the past of a database is kept from a click on', async () => {
  await here.server.run('CREATE DATABASE other WAIT')
  await open(here)
  const { page } = here
  await page.getByLabel('Database', { exact: true }).selectOption('other')
  await button('Now').click()
  await page.getByText('none is kept').waitFor()
  await button('Keep a day from now on').click()
  await page.getByText('what is committed from now on is kept').waitFor()
  for (const n of [1, 2]) {
    await run(page, `CREATE (s:Step {n: ${n}})`)
    await outcome(page)
  }
  await run(page, 'MATCH (s:Step) RETURN count(s) AS steps')
  await outcome(page)
  const count = page.locator('.body .row').first().locator('.cell').nth(1)
  await count.filter({ hasText: '2' }).waitFor()
  await button('Now').click()
  await button('Now').click()
  await page.getByRole('slider').focus()
  await page.keyboard.press('ArrowLeft')
  await count.filter({ hasText: '1' }).waitFor()
})
