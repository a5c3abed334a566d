// Where one is: the database, the server and who one is.

import { useState } from 'preact/hooks'

import { theme, type Theme } from '../state/kept'
import { connect, dark, database, databases, logout, reachable, user, version } from '../state/session'
import { Icon } from './icons'

const NEXT: Record<Theme, Theme> = { system: 'dark', dark: 'light', light: 'system' }

export function Header () {
  return (
    <header class='header'>
      <span class='logo' title={version.value && `Telar ${version.value}`}>Telar</span>
      <label class='inline'>
        <span class='hidden'>Database</span>
        <select
          aria-label='Database' value={database.value}
          onFocus={() => { void connect() }}
          onChange={event => { database.value = event.currentTarget.value }}
        >
          {databases.value.map(({ name, isOnline }) => (
            <option key={name} value={name} disabled={!isOnline}>{isOnline ? name : `${name} (offline)`}</option>
          ))}
        </select>
      </label>
      <span class={reachable.value ? 'state ok' : 'state danger'} role='status'>
        {reachable.value ? 'connected' : 'not connected'}
      </span>
      <span class='space' />
      <button
        class='quiet' title={`Colours: ${theme.value}`} aria-label={`Colours: ${theme.value}. Change them.`}
        onClick={() => { theme.value = NEXT[theme.value] }}
      >
        <Icon name={dark.value ? 'moon' : 'sun'} />
      </button>
      <Who />
    </header>
  )
}

function Who () {
  const [open, setOpen] = useState(false)
  if (!user.value) return <span class='muted'>no login</span>
  const { name, roles } = user.value
  return (
    <div class='who' onKeyDown={event => { if (event.key === 'Escape') setOpen(false) }}>
      <button class='quiet' aria-expanded={open} onClick={() => setOpen(!open)}>{name}</button>
      {open && (
        <div class='menu'>
          <p class='muted'>{roles.join(', ')}</p>
          <button onClick={logout}>Log out</button>
        </div>
      )}
    </div>
  )
}
