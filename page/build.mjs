// Builds the page: `node build.mjs`, with the packages of ./node_modules.
//
// The folder dist receives index.html and the assets that it names, compressed, each with a hash of its
// content in its name, so that a browser may keep them for ever. The server embeds all that is in there.

import { createHash } from 'node:crypto'
import fs from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

import esbuild from 'esbuild'

// The greatest size of all that is loaded, compressed (issue 20).
const GZIP_BYTES_MAX = 400_000

const here = path.dirname(fileURLToPath(import.meta.url))
const out = path.join(here, 'dist')

// Bundles `entries`; returns the contents by name, and the name of each entry.
async function bundle (entries, define = {}) {
  const { outputFiles, metafile } = await esbuild.build({
    absWorkingDir: here,
    bundle: true,
    chunkNames: '[name].[hash]',
    define,
    entryNames: '[name].[hash]',
    entryPoints: entries,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    legalComments: 'none',
    metafile: true,
    minify: true,
    outdir: out,
    splitting: true,
    target: 'es2022',
    write: false
  })
  const names = {}
  for (const [file, { entryPoint }] of Object.entries(metafile.outputs)) if (entryPoint) names[entryPoint] = path.basename(file)
  return { files: outputFiles.map(file => [path.basename(file.path), file.contents]), names }
}

// What the packages that go into the page want said wherever it goes.
function licences () {
  const { packages } = JSON.parse(fs.readFileSync(path.join(here, 'package-lock.json'), 'utf8'))
  const bundled = Object.entries(packages).filter(([folder, { dev }]) => folder !== '' && !dev)
  return bundled.map(([folder, { version, license }]) => {
    const file = fs.readdirSync(path.join(here, folder)).find(name => /^licen[cs]e/i.test(name))
    const text = file ? fs.readFileSync(path.join(here, folder, file), 'utf8') : `Licence: ${license}\n`
    return `${folder.replace(/^.*node_modules\//, '')} ${version}\n\n${text.trim()}\n`
  }).join('\n----\n\n')
}

const notices = licences()
const noticesName = `licences.${createHash('sha256').update(notices).digest('hex').slice(0, 8)}.txt`

// The worker is a file of its own, whose name the page has to know: the policy allows no script in a URL.
const WORKER = 'src/graph/layout.worker.ts'
const worker = await bundle([WORKER])
const main = await bundle(['src/main.tsx', 'src/style.css'], {
  LAYOUT_WORKER: JSON.stringify(`page/${worker.names[WORKER]}`),
  LICENCES: JSON.stringify(`page/${noticesName}`)
})

fs.rmSync(out, { recursive: true, force: true })
fs.mkdirSync(out, { recursive: true })
let bytes = 0
function emit (name, content) {
  const compressed = gzipSync(content, { level: 9 })
  fs.writeFileSync(path.join(out, `${name}.gz`), compressed)
  bytes += compressed.length
}
const files = [...worker.files, ...main.files]
for (const [name, content] of files) emit(name, content)
emit(noticesName, notices)
emit('index.html', fs.readFileSync(path.join(here, 'index.html'), 'utf8')
  .replaceAll(/@(src\/[^@]+)@/g, (_, entry) => `page/${main.names[entry]}`))
console.log(`page: ${files.length + 2} files, ${(bytes / 1000).toFixed(1)} kB compressed`)
if (bytes > GZIP_BYTES_MAX) {
  console.error(`the page is larger than ${GZIP_BYTES_MAX / 1000} kB compressed`)
  process.exit(1)
}
