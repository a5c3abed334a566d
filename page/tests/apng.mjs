// Pictures of one size become an animated PNG (the third edition of the PNG specification, section 11.3.6).

import zlib from 'node:zlib'

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')

function * chunks (png) {
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at)
    yield { type: png.toString('latin1', at + 4, at + 8), data: png.subarray(at + 8, at + 8 + length) }
    at += 12 + length
  }
}

function chunk (type, data) {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const around = Buffer.alloc(8)
  around.writeUInt32BE(data.length, 0)
  around.writeUInt32BE(crc(body), 4)
  return Buffer.concat([around.subarray(0, 4), body, around.subarray(4)])
}

// Node.js 20 has none before 20.15.
function crc (bytes) {
  if (zlib.crc32) return zlib.crc32(bytes)
  let value = ~0
  for (const byte of bytes) {
    value ^= byte
    for (let bit = 0; bit < 8; bit++) value = value & 1 ? value >>> 1 ^ 0xedb88320 : value >>> 1
  }
  return ~value >>> 0
}

// Plays `pictures`, each for its `ms`, for ever.
export function animation (pictures) {
  const read = pictures.map(({ png, ms }) => ({ ms, all: [...chunks(png)] }))
  const header = read[0].all.find(({ type }) => type === 'IHDR').data
  const control = Buffer.alloc(8)
  control.writeUInt32BE(read.length, 0)
  const out = [SIGNATURE, chunk('IHDR', header), chunk('acTL', control)]
  let sequence = 0
  for (const [at, { all, ms }] of read.entries()) {
    if (!all.find(({ type }) => type === 'IHDR').data.equals(header)) throw new Error('the pictures differ in size')
    const frame = Buffer.alloc(26)
    frame.writeUInt32BE(sequence++, 0)
    header.copy(frame, 4, 0, 8)
    frame.writeUInt16BE(ms, 20)
    frame.writeUInt16BE(1000, 22)
    out.push(chunk('fcTL', frame))
    for (const { data } of all.filter(({ type }) => type === 'IDAT')) {
      if (at === 0) {
        out.push(chunk('IDAT', data))
      } else {
        const number = Buffer.alloc(4)
        number.writeUInt32BE(sequence++, 0)
        out.push(chunk('fdAT', Buffer.concat([number, data])))
      }
    }
  }
  return Buffer.concat([...out, chunk('IEND', Buffer.alloc(0))])
}
