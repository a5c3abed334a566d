// What the graph view asks of the server, and what becomes of the answers.

import { computed, signal } from '@preact/signals'

import type { Api } from '../server/api'
import { elements, isKind, type Value } from '../server/values'
import { messageOf } from '../view/words'
import { compute, scoreName, type Algorithm, type Scope } from './algorithms'
import * as statements from './statements'
import type { Element, Group, Query } from './statements'
import { number } from './styles'
import type { View } from './view'

// Neighbours that expanding a node adds at most at once.
export const EXPAND_LIMIT = 50

// Up to this many nodes, relationships between them are fetched without being asked for.
export const CONNECT_NODES_MAX = 500
const CONNECT_LIMIT = 5000

// A node with more neighbours than are added at once.
export interface Hub {
  id: string
  groups: Group[]
}

// An edit that waits for a yes.
export interface Edit {
  title: string
  query: Query
  // The same with all relationships of the node, if that can be asked for.
  detached?: Query
  // What follows for the view: the element's new state comes from the answer, or it goes.
  removes?: string
}

export class Actions {
  readonly hub = signal<Hub | undefined>(undefined)
  readonly edit = signal<Edit | undefined>(undefined)
  readonly error = signal<string | undefined>(undefined)
  readonly notice = signal<string | undefined>(undefined)
  private readonly attempts = signal(0)
  readonly isBusy = computed(() => this.attempts.value > 0)
  // Whether an algorithm is being chosen.
  readonly isChoosing = signal(false)
  readonly connects = signal(true)

  // Stands before a statement that reads the past.
  prefix: string | undefined
  private asked = new AbortController()
  private computing: AbortController | undefined

  constructor (private readonly view: View, public api: Api) {}

  // Forgets what was asked for another result.
  reset (): void {
    this.asked.abort()
    this.asked = new AbortController()
    this.hub.value = undefined
    this.edit.value = undefined
    this.error.value = undefined
    this.notice.value = undefined
  }

  // Adds neighbours of a node: all, or if they are too many, those that are chosen then.
  async expand (id: string): Promise<void> {
    await this.attempt(async () => {
      const rows = await this.read(statements.neighbours(id, EXPAND_LIMIT + 1))
      if (rows.length > EXPAND_LIMIT) {
        await this.readHub(id)
        return
      }
      this.setMore(id, 0)
      await this.addRows(rows, 'Nothing new: all neighbours are shown.')
    })
  }

  // Adds more neighbours of a hub.
  async expandGroup (id: string, group?: Group): Promise<void> {
    await this.attempt(async () => {
      const shown = [...this.view.scene.value.relationships.values()]
        .filter(({ start, end }) => start === id || end === id).map(relationship => relationship.id)
      const rows = await this.read(statements.more(id, shown, EXPAND_LIMIT, group))
      await this.addRows(rows, 'Nothing new: all of them are shown.')
      await this.readHub(id)
    })
  }

  // Adds relationships between the nodes that are shown.
  async connect (from = [...this.view.scene.value.nodes.keys()]): Promise<void> {
    await this.attempt(async () => {
      const count = this.view.scene.value.relationships.size
      await this.addBetween(from)
      const added = this.view.scene.value.relationships.size - count
      this.notice.value = added === 0
        ? 'No more relationships between these nodes.'
        : `${added} relationships added.`
    })
  }

  // What follows when a result has come: its nodes are connected, if they are few, and what was found besides
  // by expanding is looked up once more.
  async complete (extra: string[]): Promise<void> {
    await this.attempt(async () => {
      if (extra.length > 0) this.addValues(await this.read(statements.nodesOf(extra)))
      const { size } = this.view.scene.value.nodes
      if (this.connects.value && size > 1 && size <= CONNECT_NODES_MAX) {
        await this.addBetween([...this.view.scene.value.nodes.keys()])
      }
    })
  }

  async path (from: string, to: string): Promise<void> {
    await this.attempt(async () => {
      const rows = await this.read(statements.shortestPath(from, to))
      const { nodes, relationships } = elements(rows.flat())
      if (nodes.size === 0) {
        this.notice.value = 'No path of at most 15 relationships leads from one to the other.'
        return
      }
      this.view.add(nodes.values(), relationships.values())
      this.view.select([...relationships.keys(), ...nodes.keys()])
      this.notice.value = `A shortest path: ${relationships.size} relationships.`
    })
  }

  choose (isChoosing: boolean): void {
    this.cancel()
    this.error.value = undefined
    this.isChoosing.value = isChoosing
  }

  // Computes an algorithm, and colours or sizes by it what is shown. Returns whether that worked.
  async algorithm (algorithm: Algorithm, scope: Scope): Promise<boolean> {
    let isDone = false
    await this.attempt(async () => {
      const { nodes, relationships } = this.view.scene.value
      if (scope.kind === 'shown' && relationships.size === 0) {
        throw new Error('Nothing is connected here: there is nothing to compute.')
      }
      const computing = new AbortController()
      this.computing = computing
      const query = compute(algorithm, scope, { nodes: nodes.values(), relationships: relationships.values() })
      const rows = await this.look(query, computing.signal).catch((error: unknown) => {
        throw computing.signal.aborted ? new Error('It was stopped.') : error
      })
      const scores = new Map<string, Value>()
      for (const [id, value] of rows) {
        if (typeof id === 'string' && number(value) !== undefined) scores.set(id, value!)
      }
      const score = scoreName(algorithm, scope)
      this.view.setScores(score, scores)
      this.view.override.value = {
        ...this.view.override.value, [algorithm.isGroup ? 'color' : 'size']: { score }
      }
      isDone = true
    })
    return isDone
  }

  // Gives up what is computed; the server ends it when nobody waits for it.
  cancel (): void {
    this.computing?.abort()
  }

  // Labels and types of the database, whatever result is shown meanwhile.
  async names (): Promise<{ labels: string[], types: string[] }> {
    const names = { labels: [] as string[], types: [] as string[] }
    await this.attempt(async () => {
      for (const [kind, name] of await this.ask(statements.NAMES)) {
        if (typeof name === 'string' && name !== '') names[kind === 'label' ? 'labels' : 'types'].push(name)
      }
    })
    return names
  }

  propose (edit: Edit): void {
    this.error.value = undefined
    this.edit.value = edit
  }

  // Runs the edit that was proposed, in the form that was chosen.
  async run ({ text, parameters }: Query): Promise<void> {
    const edit = this.edit.value
    if (!edit) return
    await this.attempt(async () => {
      const { rows } = await this.api.run(text, parameters)
      this.edit.value = undefined
      if (edit.removes !== undefined) {
        this.view.remove(new Set([edit.removes]))
        return
      }
      const value = rows[0]?.[0]
      if (value === undefined) throw new Error('It is not there any more: nothing was changed.')
      if (isElement(value)) this.view.update(value)
    })
  }

  // Runs what only reads, for another result no more.
  async look (query: Query, signal: AbortSignal): Promise<Value[][]> {
    return this.ask(query, AbortSignal.any([signal, this.asked.signal]))
  }

  private async ask ({ text, parameters }: Query, signal?: AbortSignal): Promise<Value[][]> {
    const statement = this.prefix ? `${this.prefix} ${text}` : text
    return (await this.api.run(statement, parameters, signal)).rows
  }

  private async read (query: Query): Promise<Value[][]> {
    return this.ask(query, this.asked.signal)
  }

  private addValues (rows: Value[][]): number {
    const { nodes, relationships } = elements(rows.flat())
    return this.view.add(nodes.values(), relationships.values())
  }

  private async addRows (rows: Value[][], otherwise: string): Promise<void> {
    const before = new Set(this.view.scene.value.nodes.keys())
    const edges = this.view.scene.value.relationships.size
    const count = this.addValues(rows)
    if (this.connects.value && before.size <= CONNECT_NODES_MAX) {
      await this.addBetween([...this.view.scene.value.nodes.keys()].filter(id => !before.has(id)))
    }
    const isSame = count === 0 && this.view.scene.value.relationships.size === edges
    this.notice.value = isSame ? otherwise : `${count} nodes added.`
  }

  private async addBetween (from: string[]): Promise<void> {
    if (from.length === 0) return
    const among = [...this.view.scene.value.nodes.keys()]
    this.addValues(await this.read(statements.between(from, among, CONNECT_LIMIT)))
  }

  private async readHub (id: string): Promise<void> {
    const rows = await this.read(statements.groups(id))
    const groups = rows.map(([type, outgoing, labels, count]) => ({
      type: String(type),
      outgoing: outgoing === true,
      labels: (labels as string[]) ?? [],
      count: Number(count)
    }))
    const total = groups.reduce((sum, { count }) => sum + count, 0)
    const shown = [...this.view.scene.value.relationships.values()]
      .filter(({ start, end }) => start === id || end === id).length
    this.setMore(id, Math.max(0, total - shown))
    this.hub.value = { id, groups }
    this.view.select([id])
  }

  private setMore (id: string, count: number): void {
    const more = new Map(this.view.more.value)
    if (count > 0) more.set(id, count)
    else more.delete(id)
    this.view.more.value = more
  }

  private async attempt (work: () => Promise<void>): Promise<void> {
    const { signal } = this.asked
    this.attempts.value++
    this.error.value = undefined
    this.notice.value = undefined
    try {
      await work()
    } catch (error) {
      // Another result has come in the meantime.
      if (!signal.aborted) this.error.value = messageOf(error)
    } finally {
      this.attempts.value--
    }
  }
}

function isElement (value: Value): value is Element {
  return isKind(value, 'node') || isKind(value, 'relationship')
}
