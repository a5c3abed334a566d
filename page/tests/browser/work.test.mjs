// Writing, running and looking at results.

import assert from 'node:assert/strict'
import test from 'node:test'

import { open, outcome, run, shot, type, world } from './world.mjs'

const here = world('--no-auth')

test('what is typed is run and shown as a table', async () => {
  await open(here)
  const { page } = here
  await run(page, "UNWIND [1, 2.0, null, 'x', [1], {a: 1}, date('2026-11-26')] AS v RETURN v, v IS NULL AS none")
  assert.match(await outcome(page), /^7 rows · /)
  const cells = await page.locator('.body .row').evaluateAll(rows => rows.map(row => row.children[1].innerText))
  assert.deepEqual(cells, ['1', '2.0', 'null', 'x', '[1]', '{a: 1}', '2026-11-26'])
  await page.getByRole('tab', { name: 'JSON' }).click()
  assert.match(await page.locator('.json pre').innerText(), /"v": 1,\n/)
})

test('several statements run in order, until one fails', async () => {
  await open(here)
  const { page } = here
  await run(page, 'CREATE (:Step {n: 1});\nMATCH (s:Step) RETURN count(s) AS steps;\nRETURN 1 / 0;\nCREATE (:Never)')
  await shot(page, 'several')
  await page.getByRole('tab', { name: '4, skipped' }).waitFor()
  assert.match(await page.locator('.failure').innerText(), /zero/)
  await page.getByRole('tab', { name: '1, done' }).click()
  assert.match(await outcome(page), /1 nodes created/)
  await page.getByRole('tab', { name: '2, done' }).click()
  assert.equal(await page.locator('.body .row').first().locator('.cell').nth(1).innerText(), '1')
  assert.deepEqual(await here.server.run('MATCH (n:Never) RETURN count(n)'), [[0]])
})

test('a mistake is underlined where it is, while one types', async () => {
  await open(here)
  const { page } = here
  await type(page, 'RETURN 1;\nMATCH (n) RETRUN n')
  const mark = page.locator('.cm-lintRange-error')
  await mark.waitFor()
  assert.equal(await mark.innerText(), 'RETRUN')
  await mark.hover()
  assert.match(await page.locator('.cm-diagnostic').innerText(), /did you mean RETURN/)
  await shot(page, 'mistake')
})

test('labels, types and properties are completed from what is there', async () => {
  await here.server.run('CREATE (:Weaver {craft: 1})-[:TEACHES {years: 2}]->(:Weaver)')
  await open(here)
  const { page } = here
  const complete = async (text, chosen) => {
    await type(page, '')
    await page.keyboard.type(text)
    await page.locator('.cm-tooltip-autocomplete li').filter({ hasText: chosen }).first().waitFor()
    await page.keyboard.press('Escape')
  }
  await complete('MATCH (n:Wea', 'Weaver')
  await complete('MATCH ()-[:TEA', 'TEACHES')
  await complete('MATCH (n:Weaver) RETURN n.cra', 'craft')
  await complete('CALL db.lab', 'db.labels')
  await complete('RETURN toUpp', 'toUpper')
})

test('rows beyond the limit are fetched when they are wanted', async () => {
  await open(here)
  const { page } = here
  await page.getByLabel('Most rows').selectOption('100')
  await run(page, 'UNWIND range(1, 5000) AS i RETURN i')
  await page.getByRole('button', { name: 'more rows' }).waitFor()
  assert.match(await outcome(page), /^100 rows/)
  await page.getByRole('button', { name: 'more rows' }).click()
  await page.locator('.outcome').filter({ hasText: '1,000 rows' }).waitFor()
})

test('a hundred thousand rows scroll to their end', async () => {
  await open(here)
  const { page } = here
  await page.getByLabel('Most rows').selectOption('1000000')
  await run(page, "UNWIND range(1, 600000) AS i RETURN i, 'row ' + i AS text")
  await page.locator('.outcome').filter({ hasText: '600,000 rows' }).filter({ hasNotText: 'running' }).waitFor({ timeout: 60_000 })
  await page.getByRole('grid').focus()
  await page.keyboard.press('End')
  await page.getByRole('gridcell', { name: 'row 600000', exact: true }).waitFor()
  await page.keyboard.press('PageUp')
  await page.keyboard.press('ArrowRight')
  const row = await page.locator('.cell[aria-selected=true]').innerText()
  assert.match(row, /^row 5999\d\d$/)
  await page.keyboard.press('Home')
  await page.getByRole('gridcell', { name: 'row 1', exact: true }).waitFor()
  // What is not in sight is not there.
  assert(await page.locator('.body .row').count() < 100)
})

test('a long statement is stopped, on the server too', async () => {
  await open(here)
  const { page } = here
  await run(page, 'UNWIND range(1, 10000000000) AS i RETURN sum(sin(i))')
  await page.getByRole('button', { name: 'Running queries' }).click()
  await page.locator('.panel .texts code').filter({ hasText: 'UNWIND range' }).waitFor()
  await page.getByRole('button', { name: 'Stop', exact: true }).click()
  await page.locator('.outcome').filter({ hasText: 'stopped' }).waitFor()
  await page.getByText('Nothing runs at the moment.').waitFor()
})

test('one sees what others run and ends it', async () => {
  await open(here)
  const { page } = here
  const other = here.server.run('UNWIND range(1, 10000000000) AS i RETURN sum(cos(i))').catch(error => error.message)
  await page.getByRole('button', { name: 'Running queries' }).click()
  await page.locator('.panel li').filter({ hasText: 'cos(i)' }).getByRole('button').click()
  assert.match(await other, /Terminated/i)
})

test('a plan shows what was estimated and what was', async () => {
  await open(here)
  const { page } = here
  await here.server.run('UNWIND range(1, 100) AS i CREATE (:Thread {n: i})')
  await type(page, 'MATCH (t:Thread)\nWHERE t.n > 50\nRETURN t.n AS n')
  await page.getByRole('button', { name: 'Profile' }).click()
  await page.getByRole('tab', { name: 'Plan' }).click()
  const filter = page.locator('.operator').filter({ hasText: 'Filter' })
  assert.match(await filter.innerText(), /50 rows/)
  await filter.hover()
  assert.equal(await page.locator('.lit').innerText(), 't.n > 50')
  await shot(page, 'plan')
  await page.getByRole('button', { name: 'Explain' }).click()
  await page.locator('.operator').filter({ hasNotText: 'rows' }).first().waitFor()
})

test('parameters, history and saved queries outlive a reload', async () => {
  await open(here)
  const { page } = here
  await page.getByRole('button', { name: 'Parameters' }).click()
  await page.getByLabel('Parameters as JSON').fill('{"name": "Ada", }')
  await page.locator('#parameters-problem').filter({ hasText: 'Parameters:' }).waitFor()
  await page.getByLabel('Parameters as JSON').fill('{"name": "Ada"}')
  await run(page, 'RETURN $name AS n')
  await page.getByRole('gridcell', { name: 'Ada' }).waitFor()
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await page.getByLabel('Name of the query').fill('By name')
  await page.keyboard.press('Enter')
  await page.reload()
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  assert.equal(await page.locator('.cm-content').innerText(), 'RETURN $name AS n')
  await type(page, '')
  await page.getByRole('button', { name: 'Saved queries' }).click()
  await page.getByRole('button', { name: 'By name' }).first().click()
  await page.keyboard.press('Control+Enter')
  await page.getByRole('gridcell', { name: 'Ada' }).waitFor()
  await page.getByRole('button', { name: 'History', exact: true }).click()
  await page.locator('.panel .texts code').filter({ hasText: 'RETURN $name AS n' }).waitFor()
})

test('a shared address brings the text and runs nothing', async () => {
  await here.server.run('CREATE (:Keep)')
  await open(here, '#cypher=' + encodeURIComponent('MATCH (n:Keep) DELETE n'))
  const { page } = here
  await page.getByText('Read it before you run it.').waitFor()
  assert.equal(await page.locator('.cm-content').innerText(), 'MATCH (n:Keep) DELETE n')
  await page.waitForTimeout(500)
  assert.deepEqual(await here.server.run('MATCH (n:Keep) RETURN count(n)'), [[1]])
  await page.getByRole('button', { name: 'Share' }).click()
  await page.getByText('The address is in the clipboard.').waitFor()
  assert.match(await page.evaluate(() => navigator.clipboard.readText()), /#cypher=MATCH%20/)
})

test('databases are chosen, and colours', async () => {
  await open(here)
  const { page } = here
  await run(page, 'CREATE DATABASE other IF NOT EXISTS')
  await outcome(page)
  await page.reload()
  await page.getByLabel('Database', { exact: true }).selectOption('other')
  await run(page, 'CALL db.info() YIELD name RETURN name')
  await page.getByRole('gridcell', { name: 'other' }).waitFor()
  await page.getByRole('button', { name: /^Colours/ }).click()
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  await shot(page, 'dark')
  await page.reload()
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
})

test('results are downloaded', async () => {
  await open(here)
  const { page } = here
  await run(page, "RETURN '=1+1' AS a, 'x,\"y\"' AS b")
  await outcome(page)
  const read = async name => {
    const [download] = await Promise.all([page.waitForEvent('download'), page.getByRole('button', { name, exact: true }).click()])
    const chunks = []
    for await (const chunk of await download.createReadStream()) chunks.push(chunk)
    return Buffer.concat(chunks)
  }
  assert.equal((await read('CSV')).toString(), 'a,b\r\n\'=1+1,"x,""y"""\r\n')
  assert.deepEqual(JSON.parse(await read('JSON')), [{ a: '=1+1', b: 'x,"y"' }])
  const arrow = await read('Arrow')
  assert.equal(arrow.readUInt32LE(0), 0xffffffff)
})

test('figures of the server', async () => {
  await open(here)
  const { page } = here
  await page.getByRole('button', { name: 'Status' }).click()
  await page.getByRole('row', { name: 'Up for' }).waitFor()
  await here.server.run('RETURN 1')
  await page.locator('.chart').first().filter({ hasText: /\d/ }).waitFor()
  await shot(page, 'status')
})
