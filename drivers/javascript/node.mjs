// The platform of the behaviours: Node.js. page.mjs is that of a page, with the same exports.

import strict from 'node:assert/strict'
import fs from 'node:fs'
import net from 'node:net'
import { createRequire } from 'node:module'

// The folder that holds node_modules is not above this file, so the driver is looked up from there.
const require = createRequire(`${process.env.DRIVERS_NODE_FOLDER}/package.json`)
export const assert = strict
export const neo4j = require('neo4j-driver')
export const DRIVER_VERSION = require('neo4j-driver/package.json').version
export const SETTINGS = process.env
export const LISTED = fs.readFileSync(new URL('../behaviours.txt', import.meta.url), 'utf8')
// Behaviours that cannot be checked here, with the reason.
export const CANNOT = {}
// End of a scheme whose connections are encrypted, with any certificate.
export const ENCRYPTED = '+ssc'
export const hasCustomCertificates = true
export const collectGarbage = globalThis.gc

export async function residentMib (process = 'self') {
  return Number(fs.readFileSync(`/proc/${process}/statm`, 'ascii').split(' ')[1]) * 4096 / 2 ** 20
}

// A proxy in front of an address: its own address, `cut()` and `close()`.
export async function openProxy (address) {
  const [host, port] = address.split(':')
  const sockets = new Set()
  const listener = net.createServer(client => {
    const server = net.connect({ host, port: Number(port) })
    client.pipe(server)
    server.pipe(client)
    for (const socket of [client, server]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => { client.destroy(); server.destroy(); sockets.delete(socket) })
    }
  })
  await new Promise(resolve => listener.listen(0, '127.0.0.1', resolve))
  const cut = async () => { for (const socket of sockets) socket.destroy() }
  const close = async () => {
    await cut()
    await new Promise(resolve => listener.close(resolve))
  }
  return { address: `127.0.0.1:${listener.address().port}`, cut, close }
}
