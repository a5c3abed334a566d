// What is shown, as tables: for those who do not see the stage, and where there is no WebGL.

import { useState } from 'preact/hooks'

import { shown, type Node, type Properties, type Relationship } from '../server/values'
import type { Actions } from './actions'
import { Button } from './controls'
import { shortened } from './styles'
import type { View } from './view'

// Rows that are there at first, and that "more" adds.
const ROWS = 200

interface ListProps {
  view: View
  actions: Actions
}

export function List ({ view, actions }: ListProps) {
  const [most, setMost] = useState(ROWS)
  const { nodes, relationships } = view.scene.value
  const isMore = nodes.size > most || relationships.size > most
  return (
    <div class='graph-list' role='region' aria-label='The graph as a list'>
      <table>
        <caption>{nodes.size} nodes</caption>
        <thead>
          <Heads names={['Node', 'Labels', 'Properties', 'Actions']} />
        </thead>
        <tbody>
          {first(nodes.values(), most).map(node => (
            <NodeRow key={node.id} node={node} view={view} actions={actions} />
          ))}
        </tbody>
      </table>
      <table>
        <caption>{relationships.size} relationships</caption>
        <thead>
          <Heads names={['From', 'Type', 'To', 'Properties']} />
        </thead>
        <tbody>
          {first(relationships.values(), most).map(each => (
            <RelationshipRow key={each.id} relationship={each} view={view} />
          ))}
        </tbody>
      </table>
      {isMore && <button type='button' onClick={() => setMost(most + ROWS)}>{ROWS} more</button>}
    </div>
  )
}

function Heads ({ names }: { names: string[] }) {
  return <tr>{names.map(name => <th key={name} scope='col'>{name}</th>)}</tr>
}

function first<T> (values: Iterable<T>, count: number): T[] {
  const found: T[] = []
  for (const value of values) {
    if (found.length === count) break
    found.push(value)
  }
  return found
}

function NodeRow ({ node, view, actions }: ListProps & { node: Node }) {
  const caption = view.caption(node)
  return (
    <tr aria-selected={view.selection.value.has(node.id)}>
      <td>
        <button
          type='button' class='graph-link' onClick={event => view.select([node.id], event.shiftKey)}
        >{caption}</button>
      </td>
      <td>{node.labels.join(', ')}</td>
      <td>{summary(node.properties)}</td>
      <td class='graph-list-actions'>
        <Button
          icon='expand' title={`Add neighbours of ${caption}`} onClick={() => void actions.expand(node.id)}
        />
        <Button icon='hide' title={`Hide ${caption}`} onClick={() => view.hide([node.id])} />
      </td>
    </tr>
  )
}

function RelationshipRow ({ relationship, view }: { relationship: Relationship, view: View }) {
  const { nodes } = view.scene.value
  const end = (id: string): string => {
    const node = nodes.get(id)
    return node ? view.caption(node) : id
  }
  return (
    <tr aria-selected={view.selection.value.has(relationship.id)}>
      <td>{end(relationship.start)}</td>
      <td>
        <button
          type='button' class='graph-link' onClick={event => view.select([relationship.id], event.shiftKey)}
        >{relationship.type}</button>
      </td>
      <td>{end(relationship.end)}</td>
      <td>{summary(relationship.properties)}</td>
    </tr>
  )
}

function summary (properties: Properties): string {
  const pairs = Object.entries(properties).map(([key, value]) => `${key}: ${shown(value)}`)
  return shortened(pairs.join(', '), 160)
}
