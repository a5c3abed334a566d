// Bundles a module of the graph view for Node.

import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

const page = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..')
const packages = process.env.PAGE_PACKAGES ?? page
const esbuild = createRequire(`${packages}/package.json`)('esbuild')

// All that the modules at `names` export, as one.
export async function load (...names) {
  const { outputFiles: [file] } = await esbuild.build({
    stdin: {
      contents: names.map(name => `export * from './src/${name}'`).join('\n'), resolveDir: page, loader: 'ts'
    },
    bundle: true,
    format: 'esm',
    nodePaths: [path.join(packages, 'node_modules')],
    platform: 'neutral',
    mainFields: ['module', 'main'],
    write: false
  })
  return import(`data:text/javascript;base64,${Buffer.from(file.contents).toString('base64')}`)
}

export const node = (id, labels = [], properties = {}) => ({ kind: 'node', id, labels, properties })
export const relationship = (id, start, end, type = 'KNOWS', properties = {}) =>
  ({ kind: 'relationship', id, type, start, end, properties })
export const byId = elements => new Map(elements.map(element => [element.id, element]))
