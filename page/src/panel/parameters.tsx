// Values for $names, as one JSON object.

import { parametersText } from '../state/kept'
import { parameters } from '../state/run'

function problem (): string {
  try {
    parameters()
    return ''
  } catch (error) {
    return (error as Error).message
  }
}

export function Parameters () {
  const wrong = problem()
  return (
    <>
      <p class='muted'>A JSON object: <code>{'{"name": "Ada"}'}</code> is <code>$name</code> in a query.</p>
      <textarea
        class='parameters' aria-label='Parameters as JSON' spellcheck={false} value={parametersText.value}
        aria-invalid={wrong !== ''} aria-describedby='parameters-problem'
        onInput={event => { parametersText.value = event.currentTarget.value }}
      />
      <p id='parameters-problem' class='error' role='status'>{wrong}</p>
    </>
  )
}
