// The form in which a property is typed.

import { useState } from 'preact/hooks'

import type { Value } from '../server/values'
import { Button } from './controls'
import { editable, parse, typeOf, TYPES, type InputType, type Typed } from './input'

interface PropertyFormProps {
  // None for a property that is new.
  name: string | undefined
  value: Value | undefined
  onSet: (name: string, value: Typed) => void
  onCancel: () => void
}

const HINTS: Partial<Record<InputType, string>> = {
  automatic: 'a number, true, a date, a list or a text',
  date: '2026-11-26',
  time: '12:30:00+01:00',
  'local time': '12:30:00',
  datetime: '2026-11-26T12:30:00+01:00',
  'local datetime': '2026-11-26T12:30:00',
  duration: 'P1DT2H',
  point: '{"longitude": 11.6, "latitude": 48.1}',
  list: '["a", "b"]'
}

export function PropertyForm ({ name, value, onSet, onCancel }: PropertyFormProps) {
  const [key, setKey] = useState(name ?? '')
  const [type, setType] = useState<InputType>(value === undefined
    ? 'automatic'
    : typeOf(value) ?? 'automatic')
  const [text, setText] = useState(value === undefined ? '' : editable(value) ?? '')
  const [error, setError] = useState<string | undefined>(undefined)
  const submit = (): void => {
    const parsed = parse(type, text)
    if (key.trim() === '') setError('A property has a name.')
    else if ('error' in parsed) setError(parsed.error)
    else onSet(key.trim(), parsed)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.stopPropagation()
      onCancel()
    } else if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault()
      submit()
    }
  }
  return (
    <form class='graph-form' onKeyDown={onKeyDown} onSubmit={event => event.preventDefault()}>
      {name === undefined && (
        <input
          aria-label='Name of the property' placeholder='name' value={key} autofocus
          onInput={event => setKey(event.currentTarget.value)}
        />
      )}
      <textarea
        aria-label='Value' rows={Math.min(6, text.split('\n').length)} value={text}
        placeholder={HINTS[type] ?? ''}
        spellcheck={false} autofocus={name !== undefined} aria-invalid={error !== undefined}
        onInput={event => {
          setText(event.currentTarget.value)
          setError(undefined)
        }}
      />
      <div class='graph-form-foot'>
        <select
          aria-label='Type' value={type} onChange={event => setType(event.currentTarget.value as InputType)}
        >
          {TYPES.map(each => <option key={each} value={each}>{each}</option>)}
        </select>
        <Button icon='check' title='Set (Enter)' onClick={submit} />
        <Button icon='close' title='Cancel (Escape)' onClick={onCancel} />
      </div>
      {error !== undefined && <p class='graph-form-error' role='alert'>{error}</p>}
    </form>
  )
}
