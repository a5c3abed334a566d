// Users and their roles, for who administers the server.

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'

import { name as quoted } from '../server/values'
import { api, noteError, user } from '../state/session'

interface Listed {
  name: string
  roles: string[]
  isSuspended: boolean
}

const ROLES = ['reader', 'editor', 'publisher', 'architect', 'admin']

const all = signal<Listed[]>([])
const problem = signal('')
const form = signal({ name: '', password: '', role: 'reader' })

async function look (): Promise<void> {
  const { rows } = await api.value.on('system').run('SHOW USERS YIELD user, roles, suspended')
  all.value = rows.map(([name, roles, suspended]) => ({
    name: name as string, roles: (roles as string[] | null) ?? [], isSuspended: suspended === true
  }))
}

// Runs what changes users, and looks at them again.
async function command (text: string, parameters: Record<string, unknown> = {}): Promise<void> {
  problem.value = ''
  try {
    if (text !== '') await api.value.on('system').run(text, parameters)
    await look()
  } catch (error) {
    noteError(error)
    problem.value = (error as Error).message
  }
}

async function add (event: Event): Promise<void> {
  event.preventDefault()
  const { name, password, role } = form.value
  await command(`CREATE USER ${quoted(name)} SET PASSWORD $password CHANGE REQUIRED`, { password })
  if (problem.value === '') await command(`GRANT ROLE ${quoted(role)} TO ${quoted(name)}`)
  if (problem.value === '') form.value = { name: '', password: '', role: 'reader' }
}

export function Users () {
  useEffect(() => { void command('') }, [])
  return (
    <>
      <ul class='listed'>
        {all.value.map(({ name, roles, isSuspended }) => (
          <li key={name}>
            <b>{name}</b> <span class='muted'>{roles.join(', ') || 'no role'}{isSuspended ? ', suspended' : ''}</span>
            {name !== user.value?.name && (
              <span class='actions'>
                <button class='quiet' onClick={() => { void command(`ALTER USER ${quoted(name)} SET STATUS ${isSuspended ? 'ACTIVE' : 'SUSPENDED'}`) }}>
                  {isSuspended ? 'Let in' : 'Suspend'}
                </button>
                <button
                  class='quiet danger'
                  onClick={() => { if (confirm(`Drop the user ${name}?`)) void command(`DROP USER ${quoted(name)}`) }}
                >
                  Drop
                </button>
              </span>
            )}
          </li>
        ))}
      </ul>
      <form onSubmit={event => { void add(event) }} aria-label='New user'>
        <h3>New user</h3>
        <label>Name
          <input
            required value={form.value.name} autocomplete='off'
            onInput={event => { form.value = { ...form.value, name: event.currentTarget.value } }}
          />
        </label>
        <label>First password
          <input
            required type='password' autocomplete='new-password' value={form.value.password}
            onInput={event => { form.value = { ...form.value, password: event.currentTarget.value } }}
          />
        </label>
        <label>Role
          <select value={form.value.role} onChange={event => { form.value = { ...form.value, role: event.currentTarget.value } }}>
            {ROLES.map(role => <option key={role}>{role}</option>)}
          </select>
        </label>
        <button class='primary'>Create</button>
      </form>
      <p class='error' role='status'>{problem.value}</p>
    </>
  )
}
