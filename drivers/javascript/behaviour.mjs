// What every behaviour stands on: the servers under test, the list, and the runner.
//
// A behaviour is an async function of the server, given to `behaviour(name, function)`; its name is the
// one in ../behaviours.txt. It fails by throwing. Nothing here knows what is tested.

import assert from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'

// The folder that holds node_modules is not above this file, so the driver is looked up from there.
const require = createRequire(`${process.env.DRIVERS_NODE_FOLDER}/package.json`)
export const neo4j = require('neo4j-driver')
export const int = neo4j.int
export { assert, sleep }
const version = require('neo4j-driver/package.json').version

const behaviours = new Map()

export function behaviour (name, check) {
  assert(!behaviours.has(name), `two behaviours named ${name}`)
  behaviours.set(name, check)
}

class Server {
  constructor () {
    this.address = process.env.DRIVERS_BOLT
    this.secureAddress = process.env.DRIVERS_BOLT_SECURE
    this.password = process.env.DRIVERS_PASSWORD
    this.certificate = process.env.DRIVERS_CERTIFICATE
    this.process = Number(process.env.DRIVERS_PROCESS)
    // 'bolt', or 'neo4j': then it is one of a cluster's nodes, whose leader is killed meanwhile.
    this.scheme = process.env.DRIVERS_SCHEME ?? 'bolt'
    this.failsOver = this.scheme === 'neo4j'
    this.kind = process.env.DRIVERS_KIND ?? 'telar'
    this.isTelar = this.kind === 'telar'
    // What the server calls the database that is also called neo4j.
    this.database = this.kind
    this.auth = neo4j.auth.basic('neo4j', this.password)
  }

  // Calls `use(driver)` and closes the driver.
  async driver (use, { uri = `${this.scheme}://${this.address}`, auth, ...settings } = {}) {
    const driver = neo4j.driver(uri, auth, settings)
    try {
      return await use(driver)
    } finally {
      await driver.close()
    }
  }

  // Calls `use(session, driver)` and closes both.
  async session (use, { session: how, ...settings } = {}) {
    return this.driver(driver => within(driver, use, how), settings)
  }

  residentMib () {
    return residentMib(this.process)
  }
}

// Calls `use(session, driver)` with a new session of `driver` and closes the session.
export async function within (driver, use, how) {
  const session = driver.session(how)
  try {
    return await use(session, driver)
  } finally {
    await session.close()
  }
}

export function residentMib (process = 'self') {
  return Number(fs.readFileSync(`/proc/${process}/statm`, 'ascii').split(' ')[1]) * 4096 / 2 ** 20
}

// The error of `action`, which has one of `codes`, if given.
export async function fails (action, ...codes) {
  try {
    await action()
  } catch (error) {
    if (codes.length > 0) assert(codes.includes(error.code), `${error.code} (${error}), expected ${codes}`)
    return error
  }
  assert.fail(`no error, expected ${codes}`)
}

export async function eventually (condition, what, seconds = 10) {
  const end = Date.now() + seconds * 1000
  while (!await condition()) {
    assert(Date.now() < end, `not within ${seconds} s: ${what}`)
    await sleep(20)
  }
}

// The first column of the first row, an integer as a number.
export async function value (runner, query, parameters) {
  const { records } = await runner.run(query, parameters)
  const got = records[0].get(0)
  return neo4j.isInt(got) ? got.toNumber() : got
}

// A TCP proxy in front of a server, to cut connections in the middle of something.
export class Proxy {
  static async open (address) {
    const proxy = new Proxy()
    const [host, port] = address.split(':')
    proxy.sockets = new Set()
    proxy.listener = net.createServer(client => {
      const server = net.connect({ host, port: Number(port) })
      client.pipe(server)
      server.pipe(client)
      for (const socket of [client, server]) {
        proxy.sockets.add(socket)
        socket.on('error', () => {})
        socket.on('close', () => { client.destroy(); server.destroy(); proxy.sockets.delete(socket) })
      }
    })
    await new Promise(resolve => proxy.listener.listen(0, '127.0.0.1', resolve))
    proxy.uri = `bolt://127.0.0.1:${proxy.listener.address().port}`
    return proxy
  }

  cut () {
    for (const socket of this.sockets) socket.destroy()
  }

  async close () {
    this.cut()
    await new Promise(resolve => this.listener.close(resolve))
  }
}

async function empty (server) {
  await server.session(async session => {
    for (const row of (await session.run('SHOW CONSTRAINTS YIELD name')).records) {
      await session.run(`DROP CONSTRAINT \`${row.get('name')}\``)
    }
    await session.run('MATCH (n) DETACH DELETE n')
  })
}

// Seconds in which a behaviour has to hold that a failover may break, and how many it may break: what is open at
// that moment, and what begins before another node leads.
const [FAILOVER_SECONDS, FAILOVER_BREAKS_MAX] = [30, 5]

// Runs a behaviour. One that a failover breaks is run again, with an empty graph, and noted in `broken`.
async function holds (server, name, check, broken) {
  const end = Date.now() + (server.failsOver ? FAILOVER_SECONDS * 1000 : 0)
  while (true) {
    try {
      await empty(server)
      return await check(server)
    } catch (error) {
      if (Date.now() >= end) throw error
      console.log(`test ${name} ... again: ${String(error).slice(0, 120)}`)
      broken.add(name)
      await sleep(200)
    }
  }
}

// Runs all behaviours, or those whose name holds one of `selected`; the exit status.
export async function run (selected) {
  const file = new URL('../behaviours.txt', import.meta.url)
  const listed = fs.readFileSync(file, 'utf8').split('\n')
    .filter(line => line && !line.startsWith('#')).map(line => line.split(':')[0])
  assert.deepEqual([...behaviours.keys()], listed, 'differs from behaviours.txt')
  const server = new Server()
  const failed = []
  const broken = new Set()
  const skipped = (process.env.DRIVERS_SKIP ?? '').split(' ')
  let passed = 0
  for (const [name, check] of behaviours) {
    if (selected.length > 0 && !selected.some(part => name.includes(part))) continue
    if (skipped.includes(name)) continue
    const started = Date.now()
    try {
      await holds(server, name, check, broken)
      passed += 1
      console.log(`test ${name} ... ok (${((Date.now() - started) / 1000).toFixed(2)} s)`)
    } catch (error) {
      failed.push(name)
      console.log(`test ${name} ... FAILED\n${error.stack}`)
    }
  }
  if (broken.size > FAILOVER_BREAKS_MAX) failed.push(`a failover that breaks ${broken.size} behaviours`)
  console.log(`javascript, neo4j-driver ${version}, ${server.kind}; failed: ${failed.join(' ') || 'none'}`)
  console.log(`test result: ${failed.length ? 'FAILED' : 'ok'}. ${passed} passed; ${failed.length} failed`)
  return failed.length > 0 ? 1 : 0
}
