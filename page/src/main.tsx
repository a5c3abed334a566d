// The page: who is there, and what stands on it then.

import { render } from 'preact'

import { connect, learnVersion, stage } from './state/session'
import { Login, NewPassword } from './view/login'
import { Workbench } from './view/workbench'

function App () {
  switch (stage.value) {
    case 'starting': return <p class='starting' role='status'>Connecting…</p>
    case 'login': return <Login />
    case 'password': return <NewPassword />
    case 'ready': return <Workbench />
  }
}

const place = document.getElementById('app')!
place.replaceChildren()
render(<App />, place)
void learnVersion()
void connect()
