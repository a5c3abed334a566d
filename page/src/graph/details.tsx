// The panel at the right: what is selected, its properties, and edits of them.

import { useState } from 'preact/hooks'

import { shown, type Node, type Relationship, type Value } from '../server/values'
import type { Actions } from './actions'
import { Button } from './controls'
import { HubGroups } from './hub'
import { typeName } from './input'
import { PropertyForm } from './property'
import {
  addLabel, remove, removeLabel, removeProperty, setProperty, type Element
} from './statements'
import type { View } from './view'

interface DetailsProps {
  view: View
  actions: Actions
  dark: boolean
  // Whether nothing may be changed: the past, or a user who only reads.
  isFixed: boolean
  onGo: (ids: string[]) => void
}

export function Details (props: DetailsProps) {
  const { view, actions } = props
  const element = view.element(view.current.value)
  const count = view.selection.value.size
  const hub = actions.hub.value
  return (
    <aside class='graph-details' aria-label='Details'>
      {count > 1 && <SelectionSummary {...props} />}
      {hub && element?.id === hub.id && <HubGroups hub={hub} view={view} actions={actions} />}
      {element ? <ElementDetails key={element.id} element={element} {...props} /> : <Overview view={view} />}
    </aside>
  )
}

function Overview ({ view }: { view: View }) {
  const { nodes, relationships } = view.scene.value
  return (
    <div class='graph-overview'>
      <h2>{nodes.size.toLocaleString('en')} nodes,
        {' '}{relationships.size.toLocaleString('en')} relationships</h2>
      <ul>
        <li><b>Click</b> shows what a node or relationship has.</li>
        <li><b>Double click</b> or <kbd>Enter</kbd> adds neighbours.</li>
        <li><b>Drag</b> moves a node, <kbd>Shift</kbd> and drag selects with a lasso.</li>
        <li><kbd>←</kbd> <kbd>→</kbd> <kbd>↑</kbd> <kbd>↓</kbd>
          {' '}go from node to node, <kbd>+</kbd> <kbd>−</kbd>
          {' '}zoom,
          {' '}<kbd>0</kbd> shows all, <kbd>P</kbd> pins, <kbd>Delete</kbd> hides.</li>
      </ul>
    </div>
  )
}

function SelectionSummary ({ view, onGo }: DetailsProps) {
  const selection = view.selection.value
  const nodes = view.selectedNodes()
  return (
    <div class='graph-summary'>
      <b>{nodes.length} nodes, {selection.size - nodes.length} relationships selected</b>
      <Button icon='center' title='Show the selection' onClick={() => onGo(nodes)} />
      <Button icon='close' title='Select nothing' onClick={() => view.select([])} />
    </div>
  )
}

function ElementDetails (props: DetailsProps & { element: Element }) {
  const { element, view, actions, isFixed, onGo } = props
  const isGhost = view.changes.value?.removed.has(element.id) ?? false
  const ends = element.kind === 'node' ? [element.id] : [element.start, element.end]
  return (
    <section>
      <header class='graph-details-head'>
        <h2>{element.kind === 'node' ? view.caption(element) : element.type}</h2>
        <Button icon='center' title='Show it in the middle' onClick={() => onGo(ends)} />
        {!isFixed && !isGhost && <DeleteButton element={element} actions={actions} />}
      </header>
      {isGhost && <p class='graph-note'>This is not there any more.</p>}
      {element.kind === 'node'
        ? <Labels {...props} element={element} />
        : <Ends view={view} element={element} />}
      <p class='graph-id'><span>{element.kind}</span> <code>{element.id}</code></p>
      <Properties {...props} isFixed={isFixed || isGhost} />
    </section>
  )
}

function DeleteButton ({ element, actions }: { element: Element, actions: Actions }) {
  return (
    <Button
      icon='remove' title={`Delete this ${element.kind} from the database`}
      onClick={() => actions.propose({
        title: `Delete this ${element.kind}?`,
        query: remove(element, false),
        ...element.kind === 'node' ? { detached: remove(element, true) } : {},
        removes: element.id
      })}
    />
  )
}

function Ends ({ view, element }: { view: View, element: Relationship }) {
  return (
    <p class='graph-ends'>
      {[element.start, element.end].map((id, index) => {
        const node = view.element(id)
        return (
          <>
            {index === 1 && <span aria-label='to'> → </span>}
            <button type='button' class='graph-link' onClick={() => view.select([id])}>
              {node?.kind === 'node' ? view.caption(node) : id}
            </button>
          </>
        )
      })}
    </p>
  )
}

function Labels ({ element, view, actions, dark, isFixed }: DetailsProps & { element: Node }) {
  const [text, setText] = useState<string | undefined>(undefined)
  return (
    <div class='graph-labels'>
      {element.labels.map(label => (
        <span key={label} class='graph-label'>
          <i class='graph-dot' style={{ background: view.labelColor(label, dark) }} />{label}
          {!isFixed && (
            <button
              type='button' aria-label={`Remove label ${label}`} title={`Remove label ${label}`}
              onClick={() => actions.propose({
                title: 'Remove a label?', query: removeLabel(element, label)
              })}
            >×</button>
          )}
        </span>
      ))}
      {!isFixed && text === undefined && (
        <button type='button' class='graph-link' onClick={() => setText('')}>+ label</button>
      )}
      {text !== undefined && (
        <form
          class='graph-inline' onSubmit={event => {
            event.preventDefault()
            if (text.trim() === '') return
            actions.propose({ title: 'Add a label?', query: addLabel(element, text.trim()) })
            setText(undefined)
          }}
        >
          <input
            aria-label='New label' autofocus value={text}
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={event => event.key === 'Escape' && setText(undefined)}
          />
          <Button icon='check' title='Add this label' onClick={() => {}} />
        </form>
      )}
    </div>
  )
}

function Properties ({ element, actions, isFixed }: DetailsProps & { element: Element }) {
  // The property that is edited, or an empty text for a new one.
  const [edited, setEdited] = useState<string | undefined>(undefined)
  const keys = Object.keys(element.properties).sort()
  const form = (key: string | undefined, value: Value | undefined) => (
    <PropertyForm
      name={key} value={value} onCancel={() => setEdited(undefined)}
      onSet={(name, typed) => {
        setEdited(undefined)
        actions.propose({
          title: `${key === undefined ? 'Add' : 'Set'} property ${name}?`,
          query: setProperty(element, name, typed)
        })
      }}
    />
  )
  return (
    <div class='graph-properties'>
      {keys.length === 0 && <p class='graph-note'>It has no properties.</p>}
      <dl>
        {keys.map(key => (
          <div key={key} class='graph-property'>
            <dt>{key}<small>{typeName(element.properties[key]!)}</small></dt>
            {edited === key
              ? <dd>{form(key, element.properties[key])}</dd>
              : (
                <dd>
                  <span class='graph-value'>{shown(element.properties[key]!)}</span>
                  {!isFixed && (
                    <span class='graph-property-actions'>
                      <Button icon='edit' title={`Edit ${key}`} onClick={() => setEdited(key)} />
                      <Button
                        icon='close' title={`Remove ${key}`}
                        onClick={() => actions.propose({
                          title: `Remove property ${key}?`, query: removeProperty(element, key)
                        })}
                      />
                    </span>
                  )}
                </dd>
                )}
          </div>
        ))}
      </dl>
      {!isFixed && (edited === ''
        ? form(undefined, undefined)
        : <button type='button' class='graph-link' onClick={() => setEdited('')}>+ property</button>)}
    </div>
  )
}
