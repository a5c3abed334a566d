// The graph view: a stage with its bar, legend and details.

import { effect, signal, untracked } from '@preact/signals'
import type { RefObject } from 'preact'
import { useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks'

import type { Api } from '../server/api'
import { Actions } from './actions'
import { AlgorithmDialog } from './algorithm'
import { Confirm } from './confirm'
import { Button, Message } from './controls'
import { Details } from './details'
import type { Changes } from './difference'
import { save } from './download'
import { press } from './keys'
import { Legend } from './legend'
import { List } from './list'
import { Performer } from './performer'
import { THEMES } from './palette'
import type { Element } from './statements'
import { Toolbar } from './toolbar'
import { View, type GraphSource } from './view'

export type { GraphSource } from './view'
export type { Changes } from './difference'

export interface GraphPanelProps {
  // What a result holds; a new object when the query has run again. Nodes keep their places.
  source: GraphSource
  api: Api
  // Text that stands before a statement which reads the past: `AT TIMESTAMP 42`. Nothing can be edited then.
  timestamp?: string | undefined
  // Whether the user may not write.
  readOnly: boolean
  // Whether what a new source changes is marked.
  showChanges?: boolean
  // Marks of the caller's own, in place of those.
  changes?: Changes | undefined
  // Puts Cypher into the editor.
  onStatement: (text: string) => void
  dark: boolean
  // Gets what is selected last, or nothing.
  onChosen?: (element: Element | undefined) => void
  // Gets what draws the graph, once it is there; for tests and measurements.
  onReady?: (performer: Performer) => void
}

export function GraphPanel (props: GraphPanelProps) {
  const { source, api, timestamp, readOnly, showChanges = false, changes, onStatement, dark, onReady, onChosen } = props
  const view = useMemo(() => new View(), [])
  const actions = useMemo(() => new Actions(view, api), [])
  const theme = useMemo(() => signal(THEMES.light), [])
  const stageBox = useRef<HTMLDivElement>(null)
  const overlay = useRef<SVGSVGElement>(null)
  const announcedId = useId()
  const [isLasso, setLasso] = useState(false)
  const [isList, setList] = useState(false)
  const performer = usePerformer(view, actions, theme, stageBox, overlay, onReady)
  const stage = performer?.stage
  const isBlind = performer !== undefined && stage === undefined

  actions.api = api
  actions.prefix = timestamp
  useEffect(() => {
    theme.value = dark ? THEMES.dark : THEMES.light
  }, [dark])
  useEffect(() => {
    const extra = [...view.extra].filter(id => !source.nodes.has(id) && view.scene.value.nodes.has(id))
    actions.reset()
    view.take(source, showChanges)
    void actions.complete(extra)
  }, [source])
  useEffect(() => {
    if (changes) view.mark(changes)
    else if (!showChanges) view.mark(undefined)
  }, [changes, showChanges])
  // Before the next thing that the pointer does.
  useLayoutEffect(() => {
    if (stage) stage.isLassoTool = isLasso
  }, [isLasso, stage])

  const current = view.element(view.current.value)
  useEffect(() => onChosen?.(current), [current])
  useEffect(() => () => onChosen?.(undefined), [])

  const go = (ids: string[]): void => stage?.fit(ids)
  const edit = actions.edit.value
  return (
    <div class={`graph ${isLasso ? 'graph-lassoing' : ''}`}>
      <Toolbar
        view={view} actions={actions} isRunning={performer?.isRunning.value ?? false} isLasso={isLasso}
        isList={isList || isBlind} onLayout={() => performer?.layOut()} onStop={() => performer?.stop()}
        onLasso={() => setLasso(!isLasso)} onList={() => setList(!isList)} onGo={go}
        onSave={format => save(format, view, stage, theme.value)} onStatement={onStatement}
      />
      <div class='graph-main'>
        <div class='graph-left'>
          <div
            class='graph-stage' ref={stageBox} tabindex={0} hidden={isList || isBlind} role='application'
            aria-label={stageLabel(view)} aria-describedby={announcedId}
            onKeyDown={event => {
              if (stage && press(event, view, actions, stage)) event.preventDefault()
            }}
          />
          <svg class='graph-overlay' ref={overlay} aria-hidden='true' />
          {isBlind && (
            <p class='graph-blind' role='alert'>
              This browser has no WebGL 2, with which graphs are drawn. Here is the graph as a list.
            </p>
          )}
          {(isList || isBlind) && <List view={view} actions={actions} />}
          {!isList && !isBlind && <Legend view={view} dark={dark} />}
          {!isList && !isBlind && <Zoom performer={performer} />}
          <Messages actions={actions} />
          <ChangesNote view={view} />
          {actions.isChoosing.value && (
            <AlgorithmDialog view={view} actions={actions} onStatement={onStatement} />
          )}
          {edit && <Confirm key={edit.query.text} edit={edit} actions={actions} />}
        </div>
        <Details
          view={view} actions={actions} dark={dark} isFixed={readOnly || timestamp !== undefined} onGo={go}
        />
      </div>
      <p id={announcedId} class='graph-hidden' aria-live='polite'>{announced(view)}</p>
    </div>
  )
}

// Draws the view into its boxes for as long as they are there.
function usePerformer (
  view: View, actions: Actions, theme: Performer['theme'], box: RefObject<HTMLDivElement | null>,
  overlay: RefObject<SVGSVGElement | null>, onReady: GraphPanelProps['onReady']
): Performer | undefined {
  const [performer, setPerformer] = useState<Performer | undefined>(undefined)
  useEffect(() => {
    const created = new Performer(view, actions, theme, box.current!, overlay.current!)
    setPerformer(created)
    onReady?.(created)
    const ends = [
      effect(() => {
        view.scene.value
        untracked(() => created.show())
      }),
      effect(() => created.paint())
    ]
    return () => {
      for (const end of ends) end()
      created.kill()
    }
  }, [])
  return performer
}

function Zoom ({ performer }: { performer: Performer | undefined }) {
  return (
    <div class='graph-zoom' role='group' aria-label='Zoom'>
      <Button icon='add' title='Zoom in (+)' onClick={() => performer?.stage?.camera.zoom(1.5)} />
      <Button icon='minus' title='Zoom out (-)' onClick={() => performer?.stage?.camera.zoom(1 / 1.5)} />
      <Button icon='fit' title='Show all (0)' onClick={() => performer?.stage?.fit()} />
    </div>
  )
}

function Messages ({ actions }: { actions: Actions }) {
  // What asks shows the error itself.
  const error = actions.edit.value || actions.isChoosing.value ? undefined : actions.error.value
  const notice = actions.notice.value
  return (
    <div class='graph-messages'>
      {error !== undefined && (
        <Message
          kind='error' onClose={() => {
            actions.error.value = undefined
          }}
        >{error}</Message>
      )}
      {notice !== undefined && (
        <Message
          kind='notice' onClose={() => {
            actions.notice.value = undefined
          }}
        >{notice}</Message>
      )}
    </div>
  )
}

function ChangesNote ({ view }: { view: View }) {
  const changes = view.changes.value
  if (!changes) return null
  return (
    <div class='graph-changes' role='status'>
      <span class='graph-added'>{changes.added.size} new</span>
      <span class='graph-changed'>{changes.changed.size} changed</span>
      <span class='graph-removed'>{changes.removed.size} gone</span>
      <Button icon='close' title='Without marks' onClick={() => view.mark(undefined)} />
    </div>
  )
}

function stageLabel (view: View): string {
  const { nodes, relationships } = view.scene.value
  return `Graph of ${nodes.size} nodes and ${relationships.size} relationships. ` +
    'Arrow keys go from node to node, Enter adds neighbours, plus and minus zoom.'
}

// What a screen reader says when the selection is another.
function announced (view: View): string {
  const count = view.selection.value.size
  if (count !== 1) return count === 0 ? '' : `${count} selected`
  const element = view.element(view.current.value)
  if (!element) return ''
  if (element.kind === 'relationship') return `Relationship ${element.type} selected`
  return `Node ${view.caption(element)}, ${element.labels.join(', ')}, ` +
    `${view.scene.value.degrees.get(element.id) ?? 0} relationships, selected`
}
