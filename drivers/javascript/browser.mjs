// Runs the behaviours of ../README.md in a page, with the official JavaScript driver, which speaks Bolt over
// WebSocket there: all of them over ws, then all of them over wss. Before, it checks which pages may connect, and
// that neovis.js draws a graph.
//
//     node browser.mjs CHROMIUM [PART OF A NAME]...
//
// DRIVERS_PAGE_PORT is the port of http://localhost that the servers allow, and DRIVERS_PAGE_HOLDER a process
// that keeps it until now; DRIVERS_BOLT_OWN and DRIVERS_HTTP_OWN are addresses of a server that serves HTTP, too,
// and allows no other page.

import fs from 'node:fs'
import http from 'node:http'
import path from 'node:path'
import { createRequire } from 'node:module'
import { neovis, NEOVIS } from './neovis.mjs'
import { openProxy, residentMib } from './node.mjs'

const folder = process.env.DRIVERS_NODE_FOLDER
const require = createRequire(`${folder}/package.json`)
const { chromium } = require('playwright-core')
const here = import.meta.dirname
const [executablePath, ...selected] = process.argv.slice(2)
const FLAGS = ['--no-sandbox', '--ignore-certificate-errors', '--enable-precise-memory-info',
  '--js-flags=--expose-gc']
// Longer than all behaviours take.
const PATIENCE_MS = 15 * 60 * 1000

const PAGE = `<!doctype html><meta charset="utf-8"><title>behaviours</title>
<script type="importmap">{"imports": {"/node.mjs": "/page.mjs"}}</script>`
const MODULE = { 'Content-Type': 'text/javascript' }

// Versions of the driver, and the settings with which each runs.
const RUNS = [
  { driver: 'neo4j-driver', settings: {} },
  {
    driver: 'neo4j-driver6',
    settings: {
      DRIVERS_SCHEME: 'bolt+s',
      DRIVERS_BOLT: process.env.DRIVERS_BOLT_SECURE,
      DRIVERS_PROCESS: process.env.DRIVERS_PROCESS_SECURE
    }
  }
]
let current = RUNS[0]
const proxies = new Map()

// Answers to requests of the page.
const ANSWERS = {
  memory: ({ process }) => residentMib(process),
  proxy: async ({ address }) => {
    const proxy = await openProxy(address)
    proxies.set(proxy.address, proxy)
    return proxy.address
  },
  cut: ({ proxy }) => proxies.get(proxy).cut(),
  close: ({ proxy }) => proxies.get(proxy).close()
}

function settings () {
  const own = Object.entries(process.env).filter(([name]) => name.startsWith('DRIVERS_'))
  return {
    SETTINGS: { ...Object.fromEntries(own), ...current.settings },
    LISTED: fs.readFileSync(path.join(here, '../behaviours.txt'), 'utf8'),
    DRIVER_VERSION: require(`${current.driver}/package.json`).version + ' in a page'
  }
}

async function serve (request, response) {
  const { pathname, searchParams } = new URL(request.url, 'http://localhost')
  const name = pathname.slice(1)
  try {
    if (request.method === 'POST') {
      const answer = await ANSWERS[name](Object.fromEntries(searchParams))
      response.end(JSON.stringify(answer ?? null))
    } else if (name === '') {
      response.writeHead(200, { 'Content-Type': 'text/html' }).end(PAGE)
    } else if (name === 'settings') {
      response.end(JSON.stringify(settings()))
    } else if (name === 'driver.mjs') {
      const file = path.join(folder, 'node_modules', current.driver, 'lib/browser/neo4j-web.esm.js')
      response.writeHead(200, MODULE).end(fs.readFileSync(file))
    } else if (name === 'neovis.js') {
      response.writeHead(200, MODULE).end(fs.readFileSync(path.join(folder, 'node_modules', NEOVIS)))
    } else if (/^[a-z]+\.mjs$/.test(name)) {
      response.writeHead(200, MODULE).end(fs.readFileSync(path.join(here, name)))
    } else {
      response.writeHead(404).end()
    }
  } catch (error) {
    response.writeHead(500).end(String(error))
  }
}

// Listens on a port once it is free.
async function listen (port) {
  const end = Date.now() + 60_000
  for (;;) {
    const server = http.createServer(serve)
    try {
      await new Promise((resolve, reject) => {
        server.on('error', reject)
        server.listen(port, '127.0.0.1', resolve)
      })
      return server
    } catch (error) {
      if (error.code !== 'EADDRINUSE' || Date.now() > end) throw error
      await new Promise(resolve => setTimeout(resolve, 10))
    }
  }
}

async function opened (browser, url, how) {
  const page = await browser.newPage()
  page.on('console', message => {
    // The browser itself reports each connection that fails.
    if (message.type() === 'log') console.log(message.text())
  })
  page.on('pageerror', error => console.log(`an error in the page: ${error}`))
  page.setDefaultTimeout(PATIENCE_MS)
  try {
    await page.goto(url)
    return await how(page)
  } finally {
    await page.close()
  }
}

// True if a page of `url` can open a WebSocket.
function connects (browser, url, socket) {
  return opened(browser, url, page => page.evaluate(address => new Promise(resolve => {
    const socket = new WebSocket(address)
    socket.onopen = () => { socket.close(); resolve(true) }
    socket.onerror = () => resolve(false)
  }), socket))
}

// Checks which pages may connect. A case has a name, the page, the address and the answer.
async function origins (browser, page, foreign) {
  const { DRIVERS_BOLT: plain, DRIVERS_BOLT_SECURE: secure, DRIVERS_BOLT_OWN: own, DRIVERS_HTTP_OWN: ownHttp } = process.env
  const port = address => address.split(':')[1]
  // A document of the server that forbids nothing to itself, as the page at `/` does.
  const document = address => `http://${address}/health`
  const cases = [
    ['an_allowed_origin_connects', page, `ws://${plain}`, true],
    ['an_allowed_origin_connects_encrypted', page, `wss://${secure}`, true],
    ['a_foreign_origin_is_refused', foreign, `ws://${plain}`, false],
    ['a_foreign_origin_is_refused_encrypted', foreign, `wss://${secure}`, false],
    ['a_page_without_an_origin_is_refused', 'data:text/html,page', `ws://${plain}`, false],
    ['an_encrypted_port_refuses_plain_pages', page, `ws://${secure}`, false],
    ['a_page_of_the_server_itself_connects', document(ownHttp), `ws://${own}`, true],
    ['a_page_of_the_server_connects_by_another_name', document(`localhost:${port(ownHttp)}`), `ws://${own}`, true],
    ['another_page_is_refused_without_a_setting', page, `ws://${own}`, false]
  ]
  // A browser that is told nothing of certificates.
  const careful = await chromium.launch({ executablePath, args: ['--no-sandbox'] })
  cases.push(['an_untrusted_certificate_is_refused', page, `wss://${secure}`, false, careful])
  const failed = []
  let passed = 0
  for (const [name, url, socket, expected, other] of cases) {
    if (selected.length > 0 && !selected.some(part => name.includes(part))) continue
    const connected = await connects(other ?? browser, url, socket)
    console.log(`test ${name} ... ${connected === expected ? 'ok' : 'FAILED'}`)
    if (connected === expected) passed += 1
    else failed.push(name)
  }
  await careful.close()
  console.log(`browser, ${browser.version()}; failed: ${failed.join(' ') || 'none'}`)
  console.log(`test result: ${failed.length ? 'FAILED' : 'ok'}. ${passed} passed; ${failed.length} failed`)
  return failed.length
}

// neovis.js draws what the server answers.
async function draws (browser, page) {
  if (selected.length > 0 && !selected.some(part => 'neovis_draws_a_graph'.includes(part))) return 0
  let error
  await opened(browser, page, neovis).catch(thrown => { error = thrown })
  console.log(`test neovis_draws_a_graph ... ${error ? `FAILED\n${error.stack}` : 'ok'}`)
  console.log(`test result: ${error ? 'FAILED. 0 passed; 1 failed' : 'ok. 1 passed; 0 failed'}`)
  return error ? 1 : 0
}

const { DRIVERS_PAGE_PORT = '0', DRIVERS_PAGE_HOLDER } = process.env
if (DRIVERS_PAGE_HOLDER) process.kill(Number(DRIVERS_PAGE_HOLDER), 'SIGKILL')
const own = await listen(Number(DRIVERS_PAGE_PORT))
const foreign = await listen(0)
const browser = await chromium.launch({ executablePath, args: FLAGS })
const page = `http://localhost:${own.address().port}/`
let failed = await origins(browser, page, `http://localhost:${foreign.address().port}/`)
failed += await draws(browser, page)
for (const run of RUNS) {
  current = run
  failed += await opened(browser, page, page => page.evaluate(async selected => {
    for (const part of ['values', 'results', 'transactions', 'failures', 'connections']) await import(`/${part}.mjs`)
    const { run } = await import('/behaviour.mjs')
    return run(selected)
  }, selected))
}
await browser.close()
process.exit(failed ? 1 : 0)
