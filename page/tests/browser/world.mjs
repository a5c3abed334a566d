// A server of its own and a browser for each test file.
//
//   TELAR     the binary, built with the page
//   CHROMIUM  the browser; /usr/bin/chromium if it is not said
//   SHOTS     a folder for screenshots; none are made without
//   SLOWER    as on a busy machine: how many times slower the page is to run; requests come late, too
//   LATE      milliseconds that each frame comes late: what a component shows before its effects

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { after, before, beforeEach, afterEach } from 'node:test'

import { launch } from '../chromium.mjs'

export const PASSWORD = 'correct-horse'
const START_MS = 30_000

export class Server {
  constructor (settings) {
    this.settings = settings
    this.folder = fs.mkdtempSync(path.join(os.tmpdir(), 'telar-page-'))
  }

  // Starts it, again at the address that it had.
  async start () {
    const binary = process.env.TELAR
    assert(binary, 'TELAR names the binary')
    this.process = spawn(binary, [
      'serve', path.join(this.folder, 'graph.telar'), '--bolt', '127.0.0.1:0', '--http', this.address ?? '127.0.0.1:0',
      '--set', 'store.retention=1d', ...this.settings
    ], { env: { ...process.env, TELAR_AUTH_INITIAL_PASSWORD: PASSWORD }, stdio: ['ignore', 'pipe', 'ignore'] })
    this.address = await new Promise((resolve, reject) => {
      let said = ''
      const timer = setTimeout(() => reject(new Error(`the server did not start: ${said}`)), START_MS)
      this.process.stdout.on('data', data => {
        said += data
        const found = /^HTTP at https?:\/\/(\S+)$/m.exec(said)
        if (!found) return
        clearTimeout(timer)
        resolve(found[1])
      })
      this.process.on('exit', () => reject(new Error(`the server ended: ${said}`)))
    })
  }

  get url () {
    return `http://${this.address}/`
  }

  async kill () {
    const ended = new Promise(resolve => this.process.once('exit', resolve))
    this.process.kill('SIGKILL')
    await ended
  }

  async close () {
    await this.kill()
    fs.rmSync(this.folder, { recursive: true })
  }

  // Runs a statement as a program does.
  async run (statement, parameters = {}, user = 'neo4j') {
    const response = await fetch(`${this.url}db/telar/query/v2`, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json',
        ...this.settings.includes('--no-auth') ? {} : { Authorization: 'Basic ' + btoa(`${user}:${PASSWORD}`) }
      },
      body: JSON.stringify({ statement, parameters })
    })
    const answer = await response.json()
    assert(!answer.errors, JSON.stringify(answer.errors))
    return answer.data.values
  }
}

// What a test file needs: `world.server`, `world.page`. A page must say nothing on the console and ask
// nobody but its server.
export function world (...settings) {
  const world = { server: new Server(settings) }
  let browser
  before(async () => {
    await world.server.start()
    browser = await launch()
  })
  after(async () => {
    await browser?.close()
    await world.server.close()
  })
  beforeEach(async () => {
    world.context = await browser.newContext({ viewport: { width: 1280, height: 800 }, permissions: ['clipboard-read', 'clipboard-write'] })
    world.page = await world.context.newPage()
    if (process.env.SLOWER) await slowDown(world, Number(process.env.SLOWER))
    if (process.env.LATE) await world.page.addInitScript(lateFrames, Number(process.env.LATE))
    world.problems = []
    watch(world.page, world)
  })
  afterEach(async () => {
    await world.context.close()
    assert.deepEqual(world.problems, [])
  })
  return world
}

// Finds what a test does not wait for.
async function slowDown ({ context, page }, times) {
  const session = await context.newCDPSession(page)
  await session.send('Emulation.setCPUThrottlingRate', { rate: times })
  await page.route('**/db/**', async route => {
    await new Promise(resolve => setTimeout(resolve, 100 * times))
    await route.continue().catch(() => {})
  })
}

// In the page: what is to follow a frame comes late. Preact waits for one, but not for longer than 35 ms.
function lateFrames (milliseconds) {
  const { setTimeout, requestAnimationFrame } = window
  const waiting = new Set()
  let last = 0
  window.requestAnimationFrame = callback => {
    const id = ++last
    waiting.add(id)
    setTimeout(() => requestAnimationFrame(time => { if (waiting.delete(id)) callback(time) }), milliseconds)
    return id
  }
  window.cancelAnimationFrame = id => { waiting.delete(id) }
  window.setTimeout = (callback, wait, ...rest) => setTimeout(callback, wait === 35 ? milliseconds + 35 : wait, ...rest)
}

function watch (page, world) {
  page.setDefaultTimeout(30_000)
  page.on('pageerror', error => world.problems.push(`error: ${error.message}`))
  page.on('console', message => {
    // The browser itself reports statements that are wrong.
    const ordinary = /status of 400/.test(message.text()) || world.expected?.test(message.text())
    if (message.type() === 'error' && !ordinary) world.problems.push(message.text())
  })
  page.on('request', request => {
    const url = new URL(request.url())
    const own = url.host === world.server.address || ['data:', 'blob:'].includes(url.protocol)
    if (!own) world.problems.push(`asked ${url}`)
  })
  page.on('dialog', dialog => {
    if (world.dialog) return world.dialog(dialog)
    world.problems.push(`dialog: ${dialog.message()}`)
    return dialog.dismiss()
  })
}

// Opens the page and waits until it can be worked with.
export async function open (world, hash = '') {
  await world.page.goto(world.server.url + hash)
  await world.page.getByRole('button', { name: 'Run', exact: true }).waitFor()
}

export async function type (page, text) {
  await page.locator('.cm-content').click()
  await page.keyboard.press('Control+a')
  await page.keyboard.press('Delete')
  // As pasted: brackets are not closed and nothing is completed.
  await page.keyboard.insertText(text)
  await page.keyboard.press('Escape')
}

export async function run (page, text) {
  await type(page, text)
  await page.keyboard.press('Control+Enter')
}

// What the last statement that was run has come to. Until the server has looked at its text, the outcome
// of the one before is still shown.
export async function outcome (page) {
  await page.getByRole('button', { name: 'Run', exact: true }).waitFor()
  const shown = page.locator('.outcome')
  await shown.filter({ hasNotText: 'running…' }).waitFor()
  return shown.innerText()
}

// The stage with a graph of so many nodes, once it listens to keys: it is drawn after its tab is shown.
export async function stage (page, nodes) {
  await page.getByRole('tab', { name: 'Graph' }).click()
  const stage = page.getByRole('application', { name: new RegExp(`^Graph of ${nodes} nodes `) })
  await stage.locator('canvas').first().waitFor()
  return stage
}

export async function shot (page, name) {
  const { SHOTS } = process.env
  if (!SHOTS) return
  fs.mkdirSync(SHOTS, { recursive: true })
  await page.screenshot({ path: path.join(SHOTS, `${name}.png`), caret: 'initial', animations: 'allow' })
}
