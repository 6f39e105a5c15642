import { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { PhasedConnection, type PhaseTimes } from '../../../src/relay/smtp-out/phased-connection.js'

const times: PhaseTimes = {
  helo: 1000,
  mail: 1000,
  rcpt: 1000,
  dataInit: 1000,
  dataXfer: 1000,
  dataDone: 1000,
  other: 1000,
}

test.each([
  ['that has come meanwhile counts', 7, []],
  ['that has not come ends the connection', 0, ['ETIMEDOUT']],
])('when the time is over, a reply %s', async (_, bytes, ended) => {
  const connection = new PhasedConnection({}, times)
  const socket = new Socket()
  let bytesRead = 10
  Object.defineProperty(socket, 'bytesRead', { get: () => bytesRead })
  const internal = connection as unknown as { _socket: Socket; _onSocketTimeout(): void }
  internal._socket = socket
  const codes: (string | undefined)[] = []
  connection.on('error', ({ code }: NodeJS.ErrnoException) => codes.push(code))
  internal._onSocketTimeout()
  bytesRead += bytes
  await new Promise(setImmediate)
  expect(codes).toEqual(ended)
  socket.destroy()
})
