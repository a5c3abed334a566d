// Who may come in, and what they may do then; and a server that goes away.

import assert from 'node:assert/strict'
import test from 'node:test'

import { open, outcome, PASSWORD, run, shot, world } from './world.mjs'

const here = world()
// A wrong password is what the browser itself reports, too; and so is a server that is away.
here.expected = /status of (401|403)|ERR_CONNECTION|Failed to load resource/

async function logIn (page, user, password) {
  await page.getByLabel('User').fill(user)
  await page.getByLabel('Password').fill(password)
  await page.getByRole('button', { name: 'Log in' }).click()
}

async function enter (user = 'neo4j', password = PASSWORD) {
  await here.page.goto(here.server.url)
  await logIn(here.page, user, password)
  await here.page.getByRole('button', { name: 'Run', exact: true }).waitFor()
}

test('one logs in, stays in over a reload, and logs out', async () => {
  const { page } = here
  await page.goto(here.server.url)
  await page.getByRole('form', { name: 'Log in' }).waitFor()
  await shot(page, 'login')
  await logIn(page, 'neo4j', 'wrong')
  await page.getByRole('alert').filter({ hasText: 'unauthorized' }).waitFor()
  await logIn(page, 'neo4j', PASSWORD)
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  await page.reload()
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  await page.getByRole('button', { name: 'neo4j', exact: true }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await page.getByRole('form', { name: 'Log in' }).waitFor()
  await page.reload()
  await page.getByRole('form', { name: 'Log in' }).waitFor()
  const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]))
  assert(!kept.includes(PASSWORD))
})

test('a first password has to be replaced', async () => {
  const { page } = here
  await enter()
  await page.getByRole('button', { name: 'Users' }).click()
  await page.getByLabel('Name', { exact: true }).fill('ada')
  await page.getByLabel('First password').fill('first-password')
  await page.getByLabel('Role').selectOption('reader')
  await page.getByRole('button', { name: 'Create' }).click()
  await page.locator('.panel li').filter({ hasText: 'ada' }).filter({ hasText: 'reader' }).waitFor()
  await shot(page, 'users')
  await page.getByRole('button', { name: 'neo4j', exact: true }).click()
  await page.getByRole('button', { name: 'Log out' }).click()
  await logIn(page, 'ada', 'first-password')
  await page.getByLabel('New password').fill('battery-staple')
  await page.getByLabel('The same again').fill('another')
  await page.getByRole('button', { name: 'Change it' }).click()
  await page.getByText('The two are not the same.').waitFor()
  await page.getByLabel('The same again').fill('battery-staple')
  await page.getByRole('button', { name: 'Change it' }).click()
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
})

test('a reader reads, is told what she may not, and is offered no more', async () => {
  await here.server.run('CREATE USER bea SET PASSWORD "battery-staple" CHANGE NOT REQUIRED')
  await here.server.run('GRANT ROLE reader TO bea')
  await enter('bea', 'battery-staple')
  const { page } = here
  assert.equal(await page.getByRole('button', { name: 'Users' }).count(), 0)
  assert.equal(await page.getByRole('button', { name: 'Load a sample graph' }).count(), 0)
  await run(page, 'MATCH (n) RETURN count(n) AS n')
  assert.match(await outcome(page), /^1 row/)
  await run(page, 'CREATE (:Forbidden)')
  await page.locator('.failure').waitFor()
  assert.match(await page.locator('.failure').innerText(), /may not|not allowed|role/i)
  assert.deepEqual(await here.server.run('MATCH (n:Forbidden) RETURN count(n)'), [[0]])
})

test('a server that is killed is missed, and found again', async () => {
  await enter()
  const { page } = here
  await run(page, 'CREATE (:Before)')
  await outcome(page)
  await here.server.kill()
  await run(page, 'RETURN 1')
  await page.getByRole('alert').filter({ hasText: 'The server does not answer' }).first().waitFor()
  await page.getByText('not connected').waitFor()
  await shot(page, 'away')
  await here.server.start()
  await page.getByText('connected', { exact: true }).waitFor()
  await run(page, 'MATCH (n:Before) RETURN count(n) AS n')
  await page.locator('.outcome').filter({ hasText: /^1 row/ }).waitFor()
  assert.equal(await page.getByRole('alert').count(), 0)
})
