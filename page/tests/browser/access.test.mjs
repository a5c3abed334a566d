// Everybody can use it: with a keyboard alone, and with what reads pages aloud.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import test from 'node:test'

import { open, outcome, run, world } from './world.mjs'

// So that slow queries are listed.
const here = world('--no-auth', '--set', 'log.slow=1ms')
const axe = fs.readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

// What axe finds that is serious.
async function findings () {
  const { page } = here
  // Evaluated by the debugger, which the policy of the page does not bind.
  await page.evaluate(axe)
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ['violations'] }))
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html.slice(0, 160)).join(' | ')}`)
}

for (const colours of ['light', 'dark']) {
  test(`nothing serious is found in ${colours} colours`, async () => {
    await here.page.emulateMedia({ colorScheme: colours })
    await here.server.run("MERGE (a:Person {name: 'Ada'}) MERGE (b:Person {name: 'Bea'}) MERGE (a)-[:KNOWS]->(b)")
    await here.server.run('CREATE FULLTEXT INDEX words IF NOT EXISTS FOR (p:Person) ON EACH [p.name]')
    await here.server.run('CREATE VECTOR INDEX near IF NOT EXISTS FOR (p:Person) ON p.v')
    await open(here)
    const { page } = here
    assert.deepEqual(await findings(), [])
    await run(page, 'MATCH p = (:Person)-[:KNOWS]->() RETURN p')
    await outcome(page)
    for (const look of ['Graph', 'Table', 'JSON']) {
      await page.getByRole('tab', { name: look }).click()
      await page.waitForTimeout(300)
      assert.deepEqual(await findings(), [], look)
    }
    await page.getByRole('tab', { name: 'Graph' }).click()
    await page.getByRole('button', { name: 'Algorithms', exact: true }).press('Enter')
    await page.getByLabel(/^the database/).check()
    await page.getByLabel('Person', { exact: true }).waitFor()
    await page.getByText('of memory').waitFor()
    assert.deepEqual(await findings(), [], 'Algorithms')
    await page.keyboard.press('Escape')
    await page.getByRole('button', { name: 'Profile' }).click()
    await page.getByRole('tab', { name: 'Plan' }).click()
    assert.deepEqual(await findings(), [], 'Plan')
    for (const panel of ['History', 'Saved queries', 'Parameters', 'Search', 'Import', 'Running queries', 'Status']) {
      await page.getByRole('button', { name: panel, exact: true }).first().click()
      await page.waitForTimeout(200)
      assert.deepEqual(await findings(), [], panel)
    }
    await page.getByRole('button', { name: 'Search', exact: true }).first().click()
    for (const like of ['numbers', 'a node or relationship']) {
      await page.getByLabel('Index').selectOption('near')
      await page.getByLabel(like).check()
      assert.deepEqual(await findings(), [], like)
    }
    await run(page, 'RETURN nothing')
    await page.locator('.failure').waitFor()
    assert.deepEqual(await findings(), [], 'an error')
  })
}

test('a walk without a mouse', async () => {
  await open(here)
  const { page } = here
  // The editor has the focus at first.
  await page.locator('.cm-editor.cm-focused').waitFor()
  await page.keyboard.type('UNWIND range(1, 3) AS i RETURN i')
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+Enter')
  assert.match(await outcome(page), /^3 rows/)
  const reach = async (role, name) => {
    for (let step = 0; step < 60; step++) {
      const found = await page.evaluate(() => {
        const element = document.activeElement
        return [element.getAttribute('role') ?? element.tagName.toLowerCase(), element.getAttribute('aria-label') ?? element.innerText]
      })
      if (found[0] === role && (found[1] ?? '').trim() === name) return
      await page.keyboard.press('Tab')
    }
    assert.fail(`${role} ${name} is not reached`)
  }
  // Tab indents nothing: it leaves the editor.
  await reach('button', 'Run')
  await reach('tab', 'JSON')
  await page.keyboard.press('Enter')
  await page.getByRole('tab', { name: 'JSON', selected: true }).waitFor()
  await page.keyboard.press('Shift+Tab')
  await page.keyboard.press('Enter')
  await reach('grid', 'Rows')
  await page.keyboard.press('ArrowDown')
  await page.keyboard.press('ArrowDown')
  assert.equal(await page.locator('.body .row').nth(2).locator('[aria-selected=true]').count(), 1)
})
