// The bar above the stage.

import type { Actions } from './actions'
import { algorithmOf } from './algorithms'
import { Button, Menu } from './controls'
import type { Format } from './download'
import { FindBox } from './find'
import { create, find } from './statements'
import { DEGREE } from './styles'
import type { View } from './view'

export interface ToolbarProps {
  view: View
  actions: Actions
  isRunning: boolean
  isLasso: boolean
  isList: boolean
  onLayout: () => void
  onStop: () => void
  onLasso: () => void
  onList: () => void
  onGo: (ids: string[]) => void
  onSave: (format: Format) => void
  onStatement: (text: string) => void
}

export function Toolbar (props: ToolbarProps) {
  const { view, actions } = props
  const selected = view.selectedNodes()
  const hidden = view.hidden.value.size
  const isPinned = selected.length > 0 && selected.every(id => view.pinned.value.has(id))
  return (
    <div class='graph-bar' role='toolbar' aria-label='Graph'>
      <FindBox view={view} onGo={props.onGo} />
      <span class='graph-bar-line' />
      <SelectMenu {...props} />
      <Button
        icon='lasso' title='Select with a lasso (Shift and drag)' pressed={props.isLasso}
        onClick={props.onLasso}
      />
      <span class='graph-bar-line' />
      <Button
        icon='expand' title='Expand: add neighbours (double click, Enter)' disabled={selected.length !== 1}
        onClick={() => void actions.expand(selected[0]!)}
      />
      <Button
        icon='path' title='Shortest path between two selected nodes' disabled={selected.length !== 2}
        onClick={() => void actions.path(selected[0]!, selected[1]!)}
      />
      <Button
        icon='pin' title={isPinned ? 'Unpin (P)' : 'Pin: keep its place (P)'} disabled={selected.length === 0}
        pressed={isPinned} onClick={() => view.pin(selected, !isPinned)}
      />
      <Button
        icon='hide' title='Hide (Delete)' disabled={selected.length === 0} onClick={() => view.hide(selected)}
      />
      <Button
        icon='close' title='Remove from the view; the database keeps it'
        disabled={view.selection.value.size === 0}
        onClick={() => view.remove(view.selection.value)}
      />
      {hidden > 0 && (
        <Button
          icon='show' title='Show what is hidden' text={`${hidden}`} onClick={() => view.showHidden()}
        />
      )}
      <span class='graph-bar-line' />
      {props.isRunning
        ? <Button icon='stop' title='Stop the layout' onClick={props.onStop} />
        : <Button icon='again' title='Lay out again' onClick={props.onLayout} />}
      <LookMenu {...props} />
      <Button
        icon='algorithm' title='Algorithms' pressed={actions.isChoosing.value}
        onClick={() => actions.choose(!actions.isChoosing.value)}
      />
      <span class='graph-bar-gap' />
      {actions.isBusy.value && <span class='graph-busy' role='status' aria-label='Asking the server' />}
      <ExportMenu {...props} />
      <Button icon='list' title='Show as a list' pressed={props.isList} onClick={props.onList} />
    </div>
  )
}

function SelectMenu ({ view, actions }: ToolbarProps) {
  return (
    <Menu
      icon='select' title='Select' items={[
        { text: 'All nodes', hint: 'Ctrl+A', onClick: () => view.selectAll() },
        { text: 'Invert', onClick: () => view.invert() },
        {
          text: 'With neighbours',
          disabled: view.selectedNodes().length === 0,
          onClick: () => view.selectNeighbours()
        },
        { text: 'Nothing', hint: 'Esc', onClick: () => view.select([]) },
        undefined,
        { text: 'Find relationships between all nodes', onClick: () => void actions.connect() },
        {
          text: 'Connect result nodes',
          checked: actions.connects.value,
          onClick: () => {
            actions.connects.value = !actions.connects.value
            if (actions.connects.value) void actions.connect()
          }
        }
      ]}
    />
  )
}

function LookMenu ({ view, actions }: ToolbarProps) {
  const override = view.override.value
  return (
    <Menu
      icon='look' title='Colours and sizes' items={[
        {
          text: 'Colour by communities',
          checked: isScore(override?.color, 'communities'),
          onClick: () => void actions.algorithm(algorithmOf('communities'), { kind: 'shown' })
        },
        {
          text: 'Size by PageRank',
          checked: isScore(override?.size, 'pagerank'),
          onClick: () => void actions.algorithm(algorithmOf('pagerank'), { kind: 'shown' })
        },
        {
          text: 'Size by degree',
          checked: isScore(override?.size, DEGREE),
          onClick: () => {
            view.override.value = { ...view.override.value, size: { score: DEGREE } }
          }
        },
        undefined,
        {
          text: 'By label again',
          disabled: override === undefined,
          onClick: () => {
            view.override.value = undefined
          }
        }
      ]}
    />
  )
}

function isScore (measure: object | undefined, score: string): boolean {
  return measure !== undefined && 'score' in measure && measure.score === score
}

function ExportMenu ({ view, onSave, onStatement }: ToolbarProps) {
  const shown = () => {
    const { nodes, relationships } = view.scene.value
    return { nodes: nodes.values(), relationships: relationships.values() }
  }
  return (
    <Menu
      icon='export' title='Export' text='Export' items={[
        { text: 'PNG', onClick: () => onSave('png') },
        { text: 'PNG without background', onClick: () => onSave('png-transparent') },
        { text: 'SVG', onClick: () => onSave('svg') },
        { text: 'CSV', onClick: () => onSave('csv') },
        { text: 'JSON', onClick: () => onSave('json') },
        undefined,
        { text: 'Show as Cypher: find it', onClick: () => onStatement(find(shown())) },
        { text: 'Show as Cypher: create it', onClick: () => onStatement(create(shown())) }
      ]}
    />
  )
}
