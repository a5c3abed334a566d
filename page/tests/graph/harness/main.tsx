// A page with nothing but the graph view, and a server that is made up.

import { render } from 'preact'
import { useState } from 'preact/hooks'

import { ForceAtlas2 } from '../../../src/graph/forceatlas2'
import { Gpu } from '../../../src/graph/gpu'
import { GraphPanel, type GraphSource } from '../../../src/graph/panel'
import { Api, RequestError } from '../../../src/server/api'
import type { Node, Properties, Relationship, Value } from '../../../src/server/values'
import * as data from './data'

interface Call {
  text: string
  parameters: Record<string, unknown>
}

const calls: Call[] = []
const world = data.people()

// Answers the statements of the view from a graph in memory.
class FakeApi extends Api {
  override async run (text: string, parameters: Record<string, unknown> = {}): Promise<never> {
    calls.push({ text, parameters })
    const rows = answer(text, parameters)
    return { fields: [], rows, summary: { queryType: 'r', counters: {} } } as never
  }
}

function answer (text: string, parameters: Record<string, unknown>): Value[][] {
  const id = parameters.id as string
  const around = (): [Relationship, Node][] => [...world.relationships.values()]
    .filter(({ start, end }) => start === id || end === id)
    .map(each => [each, world.nodes.get(each.start === id ? each.end : each.start)!])
  if (/DELETE/.test(text)) {
    if (!/DETACH/.test(text) && around().length > 0) {
      const code = 'Neo.ClientError.Schema.ConstraintValidationFailed'
      throw new RequestError(code, 'the node has relationships', 400)
    }
    return []
  }
  if (/RETURN type\(r\)/.test(text)) return groups(around(), id)
  if (/RETURN r, m/.test(text)) {
    const shown = (parameters.shown ?? []) as string[]
    const limit = Number(/LIMIT (\d+)/.exec(text)![1])
    return around().filter(([each]) => !shown.includes(each.id)).slice(0, limit)
  }
  if (/\$among/.test(text)) {
    const from = new Set(parameters.from as string[])
    const among = new Set(parameters.among as string[])
    return [...world.relationships.values()]
      .filter(({ start, end }) => from.has(start) && among.has(end) || from.has(end) && among.has(start))
      .map(each => [each])
  }
  if (/telar\.statistics/.test(text)) return [['label', 'City'], ['label', 'Person'], ['type', 'KNOWS']]
  if (/algo\.\w+\.estimate/.test(text)) {
    return [[32n, 174n, 5000n, parameters.types && parameters.types !== '*' ? 4000n : null]]
  }
  if (/algo\./.test(text)) {
    const value = (index: number): Value => /louvain/.test(text) ? BigInt(index % 4) : index / 10
    return (parameters.nodes as string[]).map((each, index) => [each, value(index)])
  }
  if (/shortestPath/.test(text)) {
    const first = [...world.relationships.values()].find(({ start }) => start === parameters.from)!
    return [[{ kind: 'path', steps: [world.nodes.get(first.start)!, first, world.nodes.get(first.end)!] }]]
  }
  return edited(text, parameters)
}

function groups (around: [Relationship, Node][], id: string): Value[][] {
  const counts = new Map<string, [string, boolean, string[], bigint]>()
  for (const [{ type, start }, { labels }] of around) {
    const key = `${type} ${start === id} ${labels.join()}`
    const group = counts.get(key) ?? [type, start === id, labels, 0n]
    group[3]++
    counts.set(key, group)
  }
  return [...counts.values()]
}

function edited (text: string, parameters: Record<string, unknown>): Value[][] {
  const node = world.nodes.get(parameters.id as string)!
  const properties: Properties = { ...node.properties }
  const set = /SET n\.(\w+) = /.exec(text)
  const removed = /REMOVE n\.(\w+)/.exec(text)
  const label = /SET n:(\w+)/.exec(text)
  if (set) properties[set[1]!] = parameters.value as Value
  if (removed) delete properties[removed[1]!]
  const after: Node = { ...node, properties, labels: label ? [...node.labels, label[1]!] : node.labels }
  world.nodes.set(after.id, after)
  return [[after]]
}

function App () {
  const query = new URLSearchParams(location.search)
  const [source, setSource] = useState<GraphSource>(() => data.source(query.get('data') ?? 'people', world))
  const [dark, setDark] = useState(query.has('dark'))
  const [showChanges, setShowChanges] = useState(false)
  document.documentElement.className = dark ? 'dark' : 'light'
  Object.assign(window, {
    harness: {
      ...Reflect.get(window, 'harness'),
      calls,
      setDark,
      show: (name: string) => setSource(data.source(name, world)),
      change: () => {
        setShowChanges(true)
        setSource(data.changed(source))
      }
    }
  })
  return (
    <GraphPanel
      source={source} api={new FakeApi('telar')} readOnly={query.has('read')} showChanges={showChanges}
      dark={dark}
      {...query.has('past') ? { timestamp: 'AT TIMESTAMP 42' } : {}}
      onStatement={text => { Reflect.get(window, 'harness').statement = text }}
      onReady={performer => { Reflect.get(window, 'harness').performer = performer }}
    />
  )
}

Object.assign(window, { harness: { ForceAtlas2, Gpu } })
render(<App />, document.getElementById('app')!)
