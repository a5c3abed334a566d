// An edit before it runs: its statement and parameters, as they are.

import { useRef, useState } from 'preact/hooks'

import type { Actions, Edit } from './actions'
import { Dialog } from './dialog'

export function Confirm ({ edit, actions }: { edit: Edit, actions: Actions }) {
  const [isDetached, setDetached] = useState(false)
  const run = useRef<HTMLButtonElement>(null)
  const query = isDetached && edit.detached ? edit.detached : edit.query
  const cancel = (): void => {
    actions.edit.value = undefined
    actions.error.value = undefined
  }
  return (
    <Dialog title={edit.title} first={run} onClose={cancel}>
      <p>This runs:</p>
      <pre tabindex={0}><code>{query.text}</code></pre>
      <pre class='graph-parameters' tabindex={0} aria-label='Parameters'>
        <code>{JSON.stringify(query.parameters, null, 2)}</code>
      </pre>
      {edit.detached && (
        <label>
          <input
            type='checkbox' checked={isDetached} onChange={event => {
              setDetached(event.currentTarget.checked)
              actions.error.value = undefined
            }}
          />
          {' '}with all its relationships (DETACH)
        </label>
      )}
      {actions.error.value !== undefined && (
        <p class='graph-form-error' role='alert'>{actions.error.value}</p>
      )}
      <div class='graph-confirm-foot'>
        <button type='button' onClick={cancel}>Cancel</button>
        <button
          type='button' ref={run} class={edit.removes === undefined ? 'graph-primary' : 'graph-danger'}
          disabled={actions.isBusy.value} onClick={() => void actions.run(query)}
        >{edit.removes === undefined ? 'Run' : 'Delete'}</button>
      </div>
    </Dialog>
  )
}
