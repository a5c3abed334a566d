// The past and the present: the slider, and what others commit while one looks.

import assert from 'node:assert/strict'
import test from 'node:test'

import { open, outcome, run, shot, world } from './world.mjs'

const here = world('--no-auth')

const count = () => here.page.locator('.body .row').first().locator('.cell').nth(1)

test('the slider goes back to commits and forth again', async () => {
  for (const n of [1, 2, 3]) await here.server.run('CREATE (:Moment {n: $n})', { n })
  await open(here)
  const { page } = here
  await run(page, 'MATCH (m:Moment) RETURN count(m) AS moments')
  await outcome(page)
  assert.equal(await count().innerText(), '3')
  await page.getByRole('button', { name: 'Now' }).click()
  const slider = page.getByRole('slider')
  await slider.focus()
  await page.keyboard.press('ArrowLeft')
  await count().filter({ hasText: '2' }).waitFor()
  await page.locator('.outcome').filter({ hasText: 'as of' }).waitFor()
  await shot(page, 'past')
  await page.keyboard.press('ArrowLeft')
  await count().filter({ hasText: '1' }).waitFor()
  await page.keyboard.press('End')
  await count().filter({ hasText: '3' }).waitFor()
  await page.keyboard.press('Home')
  await page.getByRole('button', { name: 'Past' }).click()
  await count().filter({ hasText: '3' }).waitFor()
})

test('what is shown follows what others commit', async () => {
  await open(here)
  const { page } = here
  await run(page, 'MATCH (f:Fresh) RETURN count(f) AS fresh')
  await outcome(page)
  await page.getByRole('button', { name: 'Live' }).click()
  await here.server.run('CREATE (:Fresh)')
  await count().filter({ hasText: '1' }).waitFor()
  await here.server.run('UNWIND range(1, 9) AS i CREATE (:Fresh)')
  await count().filter({ hasText: '10' }).waitFor()
  await page.getByRole('button', { name: 'Live' }).click()
  await here.server.run('CREATE (:Fresh)')
  await page.waitForTimeout(1500)
  assert.equal(await count().innerText(), '10')
})

test('what was committed before one follows is shown, too', async () => {
  await open(here)
  const { page } = here
  await run(page, 'MATCH (e:Early) RETURN count(e) AS early')
  await outcome(page)
  await here.server.run('CREATE (:Early)')
  await page.getByRole('button', { name: 'Live' }).click()
  await count().filter({ hasText: '1' }).waitFor()
})

test('a statement that writes is never repeated by itself', async () => {
  await open(here)
  const { page } = here
  await run(page, 'CREATE (w:Once) RETURN w.n AS n')
  await outcome(page)
  await page.getByRole('button', { name: 'Live' }).click()
  await here.server.run('CREATE (:Other)')
  await page.waitForTimeout(1500)
  assert.deepEqual(await here.server.run('MATCH (w:Once) RETURN count(w)'), [[1]])
})

test('without a past there is a word about it', async () => {
  await open(here)
  await run(here.page, 'CREATE DATABASE fresh IF NOT EXISTS')
  await outcome(here.page)
  await here.page.reload()
  await here.page.getByLabel('Database', { exact: true }).selectOption('fresh')
  await here.page.getByRole('button', { name: 'Now' }).click()
  await here.page.getByText('There is no past to go to yet').waitFor()
})
