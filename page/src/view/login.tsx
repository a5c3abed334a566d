// Logging in, and replacing a password that may not stay.

import { useState } from 'preact/hooks'

import { RequestError } from '../server/api'
import { changePassword, connect, loginError, logout, reachable } from '../state/session'

function Logo () {
  return <h1 class='logo'>Telar</h1>
}

export function Login () {
  const [user, setUser] = useState('neo4j')
  const [password, setPassword] = useState('')
  const [busy, setBusy] = useState(false)
  const submit = async (event: Event) => {
    event.preventDefault()
    setBusy(true)
    await connect({ user, password })
    setBusy(false)
  }
  return (
    <main class='gate'>
      <form onSubmit={submit} aria-label='Log in'>
        <Logo />
        <label>User
          <input value={user} autocomplete='username' autofocus onInput={event => setUser(event.currentTarget.value)} />
        </label>
        <label>Password
          <input
            type='password' value={password} autocomplete='current-password'
            onInput={event => setPassword(event.currentTarget.value)}
          />
        </label>
        <p class='error' role='alert'>{reachable.value ? loginError.value : 'The server does not answer; trying again.'}</p>
        <button class='primary' disabled={busy}>{busy ? 'Logging in…' : 'Log in'}</button>
      </form>
    </main>
  )
}

export function NewPassword () {
  const [password, setPassword] = useState('')
  const [again, setAgain] = useState('')
  const [error, setError] = useState('')
  const submit = async (event: Event) => {
    event.preventDefault()
    if (password !== again) return setError('The two are not the same.')
    try {
      await changePassword(password)
    } catch (failure) {
      if (!(failure instanceof RequestError)) throw failure
      setError(failure.message)
    }
  }
  return (
    <main class='gate'>
      <form onSubmit={submit} aria-label='Change the password'>
        <Logo />
        <p>This password was given to you and has to be replaced by one of your own.</p>
        <label>New password
          <input
            type='password' value={password} autocomplete='new-password' autofocus
            onInput={event => setPassword(event.currentTarget.value)}
          />
        </label>
        <label>The same again
          <input type='password' value={again} autocomplete='new-password' onInput={event => setAgain(event.currentTarget.value)} />
        </label>
        <p class='error' role='alert'>{error}</p>
        <button class='primary'>Change it</button>
        <button type='button' onClick={logout}>Log in as somebody else</button>
      </form>
    </main>
  )
}
