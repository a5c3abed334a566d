// What every behaviour stands on: the servers under test, the list, and the runner.
//
// A behaviour is an async function of the server, given to `behaviour(name, function)`; its name is the
// one in ../behaviours.txt. It fails by throwing. Nothing here knows what is tested. node.mjs is the platform
// that it runs on; a page loads page.mjs instead, by its import map.

import { CANNOT, DRIVER_VERSION, LISTED, SETTINGS, assert, neo4j, openProxy, residentMib } from './node.mjs'

export { assert, neo4j }
export { ENCRYPTED, collectGarbage, hasCustomCertificates } from './node.mjs'
export const int = neo4j.int
export const sleep = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds))

const behaviours = new Map()

export function behaviour (name, check) {
  assert(!behaviours.has(name), `two behaviours named ${name}`)
  behaviours.set(name, check)
}

class Server {
  constructor () {
    this.address = SETTINGS.DRIVERS_BOLT
    this.secureAddress = SETTINGS.DRIVERS_BOLT_SECURE
    this.password = SETTINGS.DRIVERS_PASSWORD
    this.certificate = SETTINGS.DRIVERS_CERTIFICATE
    this.process = Number(SETTINGS.DRIVERS_PROCESS)
    // 'bolt', or 'neo4j': then it is one of a cluster's nodes, whose leader is killed meanwhile.
    this.scheme = SETTINGS.DRIVERS_SCHEME ?? 'bolt'
    this.failsOver = this.scheme === 'neo4j'
    this.kind = SETTINGS.DRIVERS_KIND ?? 'telar'
    this.isTelar = this.kind === 'telar'
    // What the server calls the database that is also called neo4j.
    this.database = this.kind
    this.auth = neo4j.auth.basic('neo4j', this.password)
    // Encrypted connections to `address`, where everybody has to log in.
    const [, encryption] = this.scheme.split('+')
    this.routingScheme = encryption ? `neo4j+${encryption}` : 'neo4j'
    this.usualAuth = encryption ? this.auth : undefined
  }

  // Calls `use(driver)` and closes the driver.
  async driver (use, { uri = `${this.scheme}://${this.address}`, ...others } = {}) {
    // Without credentials is another thing than with the usual ones.
    const { auth, ...settings } = { auth: this.usualAuth, ...others }
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

  // Memory of the server, and of this program.
  async residentMib () {
    return residentMib(this.process)
  }

  async clientMib () {
    return residentMib()
  }

  // A TCP proxy in front of the server, to cut connections in the middle of something: `uri`, `cut()`, `close()`.
  async proxy () {
    const proxy = await openProxy(this.address)
    return { ...proxy, uri: `${this.scheme}://${proxy.address}` }
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

async function empty (server) {
  await server.session(async session => {
    for (const row of (await session.run('SHOW CONSTRAINTS YIELD name')).records) {
      await session.run(`DROP CONSTRAINT \`${row.get('name')}\``)
    }
    await session.run('MATCH (n) DETACH DELETE n')
  })
}

// Seconds in which a behaviour has to hold that a failover may break.
const FAILOVER_SECONDS = 30

// Runs a behaviour. One that a failover breaks is run again, with an empty graph; the runner counts them.
async function holds (server, name, check) {
  const end = Date.now() + (server.failsOver ? FAILOVER_SECONDS * 1000 : 0)
  while (true) {
    try {
      await empty(server)
      return await check(server)
    } catch (error) {
      if (Date.now() >= end) throw error
      console.log(`test ${name} ... again: ${String(error).slice(0, 120)}`)
      await sleep(200)
    }
  }
}

// Runs all behaviours, or those whose name holds one of `selected`; the exit status.
export async function run (selected) {
  const listed = LISTED.split('\n')
    .filter(line => line && !line.startsWith('#')).map(line => line.split(':')[0])
  assert.deepEqual([...behaviours.keys()], listed, 'differs from behaviours.txt')
  const server = new Server()
  const failed = []
  const skipped = (SETTINGS.DRIVERS_SKIP ?? '').split(' ')
  let passed = 0
  for (const [name, check] of behaviours) {
    if (selected.length > 0 && !selected.some(part => name.includes(part))) continue
    if (skipped.includes(name)) continue
    if (name in CANNOT) {
      console.log(`test ${name} ... left out: ${CANNOT[name]}`)
      continue
    }
    const started = Date.now()
    try {
      await holds(server, name, check)
      passed += 1
      console.log(`test ${name} ... ok (${((Date.now() - started) / 1000).toFixed(2)} s)`)
    } catch (error) {
      failed.push(name)
      console.log(`test ${name} ... FAILED\n${error.stack}`)
    }
  }
  console.log(`javascript, neo4j-driver ${DRIVER_VERSION}, ${server.kind}; failed: ${failed.join(' ') || 'none'}`)
  console.log(`test result: ${failed.length ? 'FAILED' : 'ok'}. ${passed} passed; ${failed.length} failed`)
  return failed.length > 0 ? 1 : 0
}
