// Neighbours of a node that has too many: groups to choose from.

import type { Actions, Hub } from './actions'
import { EXPAND_LIMIT } from './actions'
import { Button } from './controls'
import type { View } from './view'

export function HubGroups ({ hub, view, actions }: { hub: Hub, view: View, actions: Actions }) {
  const more = view.more.value.get(hub.id) ?? 0
  return (
    <section class='graph-hub' aria-label='Neighbours'>
      <header class='graph-details-head'>
        <h2>Many neighbours</h2>
        <Button
          icon='close' title='Close' onClick={() => {
            actions.hub.value = undefined
          }}
        />
      </header>
      <p class='graph-note'>
        {more === 0 ? 'All are shown.' : `${more.toLocaleString('en')} are not shown. Add which?`}
      </p>
      <ul>
        {hub.groups.map(group => {
          const { type, outgoing, labels, count } = group
          const others = labels.length === 0 ? 'no label' : labels.join(', ')
          return (
            <li key={`${type} ${outgoing} ${others}`}>
              <button
                type='button' class='graph-group' disabled={more === 0}
                title={`Add up to ${EXPAND_LIMIT} by ${type} ${outgoing ? 'to' : 'from'} ${others}`}
                onClick={() => void actions.expandGroup(hub.id, group)}
              >
                <span class='graph-group-type'>{outgoing ? `${type} →` : `← ${type}`}</span>
                <span class='graph-group-labels'>{others}</span>
                <small>{count.toLocaleString('en')}</small>
              </button>
            </li>
          )
        })}
      </ul>
      <Button
        icon='add' title={`Add any ${EXPAND_LIMIT}`} text={`Any ${EXPAND_LIMIT}`} disabled={more === 0}
        onClick={() => void actions.expandGroup(hub.id)}
      />
    </section>
  )
}
