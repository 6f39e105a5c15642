import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import type { Transport } from '../../../src/delivery/transport.js'
import { WaybillError } from '../../../src/errors.js'
import { localTransport } from '../../../src/relay/smtp-out/smtp-out.js'
import { heldClock, type HeldClock } from '../../held-clock.js'
import type { SmtpTransportOptions } from '../../../src/relay/smtp-out/smtp-out-options.js'
import type { Answer } from '../foreign-server.js'
import { deliver, requestOf, someData } from '../request.js'
import { between, scripted, transportOf } from './smtp-out-fixture.js'

test('the second message goes over the same connection', async () => {
  const { server, transport } = await between()
  await deliver(transport)
  await deliver(transport)
  expect(server.taken.map(({ session }) => session)).toEqual([1, 1])
})

test('of two idle connections the one that was used last is used again', async () => {
  // The first connection takes its message only when the other one is done with its own.
  let both: readonly Promise<unknown>[] = []
  const { server, transport } = await between((line, { number }) =>
    line === '.' && number === 1 ? { reply: '250 2.0.0 taken', after: Promise.race(both) } : undefined,
  )
  both = [deliver(transport), deliver(transport)]
  await Promise.all(both)
  await deliver(transport)
  expect(server.taken.at(-1)?.session).toBe(1)
})

test('a connection is left after as many messages as allowed', async () => {
  const { server, transport } = await between(undefined, { connectionReuse: { messagesMax: 2 } })
  for (let i = 0; i < 5; i++) await deliver(transport)
  expect(server.taken.map(({ session }) => session)).toEqual([1, 1, 2, 2, 3])
})

test('an idle connection is ended after its time', async () => {
  const clock = heldClock()
  const { server, transport } = await between(undefined, { connectionReuse: { idleMs: 20 }, clock })
  await deliver(transport)
  clock.advance(19)
  expect(server.openCount()).toBe(1)
  clock.advance(1)
  await expect.poll(() => server.openCount()).toBe(0)
  expect(server.commands.at(-1)).toBe('1 QUIT')
})

test('a transaction that was refused is left before the connection is used again, by which no timer goes on', async () => {
  const clock = heldClock()
  const { server, transport } = await between(
    (line) => (line.includes('<no@') ? '550 5.1.1 no' : undefined),
    { clock },
  )
  await deliver(transport, { recipients: ['no@example.net'] })
  await expect.poll(() => server.commands.includes('1 RSET')).toBe(true)
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  transport.close?.()
  await expect.poll(() => clock.runningCount).toBe(0)
})

test('a reused connection that the server ends at MAIL is replaced within the attempt', async () => {
  for (const answer of [{ does: 'close' }, { reply: '421 4.4.2 idle too long', does: 'close' }] as const) {
    const { server, transport } = await between((line, session) =>
      line.startsWith('MAIL') && session.number === 1 && session.taken === 1 ? answer : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
  }
})

test('a reused connection that ends is replaced once within an attempt, also when another reused one takes its place', async () => {
  const { transport } = await between(
    (line, { taken }) => (line.startsWith('MAIL') && taken === 1 ? { does: 'close' } : undefined),
    { connectionsMax: 1 },
  )
  //    1. opens
  //    2. takes over what 1. has used
  //    3. opens in its place, and 2. takes that over
  const results = await Promise.all([1, 2, 3].map(() => deliver(transport)))
  expect(results).toMatchObject([{ kind: 'delivered' }, { kind: 'site' }, { kind: 'delivered' }])
})

test('a fresh connection that the server ends at MAIL is not replaced', async () => {
  const { server, transport } = await between((line) =>
    line.startsWith('MAIL') ? { does: 'close' } : undefined,
  )
  expect(await deliver(transport)).toMatchObject({ kind: 'site' })
  expect(server.sessionCount()).toBe(1)
})

test.each(['421 4.7.0 too many messages', '451 4.7.1 not on this connection', '503 5.5.1 no more'])(
  'a message whose MAIL is answered with "%s" on a reused connection is offered once on a new one',
  async (answer) => {
    const { server, transport } = await between((line, { taken }) =>
      line.startsWith('MAIL') && taken === 1 ? answer : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
  },
)

test('a message that is refused at MAIL on a new connection as well is refused', async () => {
  let messageCount = 0
  const { server, transport } = await between((line) => {
    if (line === '.') messageCount++
    return line.startsWith('MAIL') && messageCount > 0 ? '550 5.7.1 not you' : undefined
  })
  await deliver(transport)
  expect(await deliver(transport)).toMatchObject({ kind: 'failed', status: '5.7.1' })
  expect(server.sessionCount()).toBe(2)
})

test.each([
  ['RCPT', { does: 'close' }],
  ['RCPT', { reply: '421 4.4.2 going away', does: 'close' }],
  ['DATA', { does: 'close' }],
  ['DATA', { reply: '421 4.4.2 going away', does: 'close' }],
] as const)(
  'a reused connection that ends at %s, %j, before any data, is replaced',
  async (stage, answer) => {
    const { server, transport } = await between((line, session) =>
      line.startsWith(stage) && session.number === 1 && session.taken === 1 ? answer : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
    expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
  },
)

test.each([{ does: 'close' }, { reply: '421 4.4.2 going away', does: 'close' }] as const)(
  'a reused connection that ends behind the data, %j, is not replaced: the server may have the message',
  async (answer) => {
    const { server, transport } = await between((line, session) =>
      line === '.' && session.taken === 1 ? answer : undefined,
    )
    await deliver(transport)
    expect(await deliver(transport)).toMatchObject({ kind: 'site' })
    expect(server.sessionCount()).toBe(1)
  },
)

test('a connection that the server ended while it was idle is not used', async () => {
  const { server, transport } = await between()
  await deliver(transport)
  server.endSessions()
  await expect.poll(() => server.openCount()).toBe(0)
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect(server.taken.map(({ session }) => session)).toEqual([1, 2])
})

test('more attempts than connections wait for each other, and all arrive', async () => {
  const { server, transport } = await between(undefined, { connectionsMax: 2 })
  const results = await Promise.all(Array.from({ length: 30 }, () => deliver(transport)))
  expect(results.every((result) => 'kind' in result && result.kind === 'delivered')).toBe(true)
  expect(server.taken).toHaveLength(30)
  expect(server.sessionCount()).toBe(2)
})

test('an idle connection to one destination makes room for another', async () => {
  const { server } = await between()
  const other = await scripted()
  const transport = transportOf({ connectionsMax: 1 })
  const nexthops = Array.from({ length: 6 }, (_, i) => `127.0.0.1:${(i % 2 === 0 ? server : other).port}`)
  const results = await Promise.all(nexthops.map((nexthop) => deliver(transport, { nexthop })))
  expect(results.every((result) => 'kind' in result && result.kind === 'delivered')).toBe(true)
  expect(server.taken.length).toBe(3)
  expect(other.taken.length).toBe(3)
})

test.each([
  ['before', 1, 1],
  ['before, over several connections', 3, 3],
  ['at the same time', 1, 0],
])(
  'a server that refuses and then is silent holds up no mail to another: %s',
  async (_, connectionsMax, before) => {
    const silent = await scripted((line) =>
      line.startsWith('RCPT') ? '550 5.1.1 no' : line === 'RSET' ? { does: 'hang' } : undefined,
    )
    const other = await scripted()
    const transport = transportOf({ connectionsMax })
    const to = ({ port }: { port: number }): Promise<unknown> =>
      deliver(transport, { nexthop: `127.0.0.1:${port}` })
    for (let i = 0; i < before; i++) await to(silent)
    await Promise.all([silent, other, other, silent, other].map(to))
    expect(other.taken).toHaveLength(3)
  },
)

test('a connection that had to give way is not used again when the refused transaction is left after all', async () => {
  const late = await scripted((line) => {
    if (line === 'RSET') return { reply: '250 2.0.0 ok', afterMs: 100 }
    return line === 'QUIT' ? { does: 'hang' } : line.includes('<no@') ? '550 5.1.1 no' : undefined
  })
  const other = await scripted((line) => (line === '.' ? { reply: '250 taken', afterMs: 300 } : undefined))
  const transport = transportOf({ connectionsMax: 1 })
  const nexthop = `127.0.0.1:${late.port}`
  await deliver(transport, { nexthop, recipients: ['no@example.net'] })
  await deliver(transport, { nexthop: `127.0.0.1:${other.port}` })
  expect(await deliver(transport, { nexthop })).toMatchObject({ kind: 'delivered' })
})

test('a place that comes to an attempt that was aborted while it waited goes to the next one', async () => {
  const { transport } = await between(
    (line, { number }) =>
      line === '.' && number === 1 ? { reply: '250 2.0.0 taken', afterMs: 50 } : undefined,
    { connectionsMax: 1, connectionReuse: { idleMs: 0 } },
  )
  const first = deliver(transport)
  const abort = new AbortController()
  const aborted = transport.deliver(requestOf(someData), abort.signal)
  const next = deliver(transport)
  abort.abort()
  expect(await first).toMatchObject({ kind: 'delivered' })
  expect(await aborted).toMatchObject({ kind: 'site' })
  expect(await Promise.race([next, sleep(5000)])).toMatchObject({ kind: 'delivered' })
})

test('a place is not lost when a connection fails', async () => {
  let refuse = true
  const { transport } = await between(
    (line) => (line === 'GREETING' && refuse ? { does: 'close' } : undefined),
    {
      connectionsMax: 1,
    },
  )
  await Promise.all([deliver(transport), deliver(transport), deliver(transport)])
  refuse = false
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('a nexthop that is no host costs no place', async () => {
  const { server } = await between()
  const transport = transportOf({ connectionsMax: 1 })
  for (const nexthop of ['no host', '127.0.0.1:0', '127.0.0.1:65536']) {
    expect(await deliver(transport, { nexthop })).toMatchObject({ kind: 'site', status: '4.4.3' })
  }
  expect(await deliver(transport, { nexthop: `127.0.0.1:${server.port}` })).toMatchObject({
    kind: 'delivered',
  })
})

test('an aborted attempt drops its connection', async () => {
  const { server, transport } = await between((line) => (line === '.' ? { does: 'hang' } : undefined), {
    silenceTimeoutMs: 60_000,
  })
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData), controller.signal)
  await expect.poll(() => server.commands.length).toBeGreaterThan(3)
  controller.abort()
  expect(await result).toMatchObject({ kind: 'site' })
  await expect.poll(() => server.openCount()).toBe(0)
})

const withdrawn = new WaybillError('ATTEMPT_WITHDRAWN', 'an operator ended the message')

/** An attempt whose server has come to this stage, and does so there. */
async function attemptAt(stage: string, answer: Answer, options: SmtpTransportOptions = {}) {
  let reached = (): void => {}
  const isReached = new Promise<void>((resolve) => (reached = resolve))
  const script = (line: string): Answer | undefined => {
    if (!line.startsWith(stage)) return undefined
    reached()
    return answer
  }
  const { server, transport } = await between(script, options)
  const controller = new AbortController()
  const result = transport.deliver(requestOf(someData), controller.signal)
  await isReached
  return { server, controller, result }
}

test.each(['GREETING', 'EHLO', 'MAIL', 'RCPT', 'DATA'])(
  'an attempt that an operator ends while the server is silent at %s ends at once, and nobody has the message',
  async (stage) => {
    const { server, controller, result } = await attemptAt(stage, { does: 'hang' })
    controller.abort(withdrawn)
    expect(await result).toMatchObject({ kind: 'site' })
    expect(server.taken).toEqual([])
    await expect.poll(() => server.openCount()).toBe(0)
  },
)

test('what the server says to data that has left counts, though an operator ended the attempt', async () => {
  let say = (): void => {}
  const after = new Promise<void>((resolve) => (say = resolve))
  const { controller, result } = await attemptAt('.', { reply: '250 2.0.0 taken', after })
  controller.abort(withdrawn)
  say()
  expect(await result).toMatchObject({ kind: 'delivered' })
})

test('a server that is silent behind the data holds up no operator for longer than two seconds', async () => {
  const clock = heldClock()
  const { server, controller, result } = await attemptAt('.', { does: 'hang' }, { clock })
  controller.abort(withdrawn)
  clock.advance(1999)
  expect(server.openCount()).toBe(1)
  clock.advance(1)
  expect(await result).toMatchObject({ kind: 'site', status: '4.4.2' })
})

test('close drops every connection', async () => {
  const { server, transport } = await between()
  await Promise.all(Array.from({ length: 5 }, () => deliver(transport)))
  transport.close?.()
  await expect.poll(() => server.openCount()).toBe(0)
})

test.each<[string, (transport: Transport, clock: HeldClock) => void]>([
  ['close drops it', (transport) => transport.close?.()],
  ['it is left after five seconds', (_, clock) => clock.advance(5000)],
])('a server that says no goodbye keeps no connection: %s', async (_, end) => {
  const clock = heldClock()
  const { server, transport } = await between((line) => (line === 'QUIT' ? { does: 'hang' } : undefined), {
    connectionReuse: { idleMs: 0 },
    clock,
  })
  await deliver(transport)
  await expect.poll(() => server.commands.at(-1)).toBe('1 QUIT')
  clock.advance(4999)
  expect(server.openCount()).toBe(1)
  end(transport, clock)
  await expect.poll(() => server.openCount()).toBe(0)
})

test('a server that never ends its answer to RSET holds no place', async () => {
  const { transport } = await between(
    (line, { number }) =>
      line === 'RSET'
        ? { does: 'drip' }
        : line.startsWith('RCPT') && number === 1
          ? '550 5.1.1 no'
          : undefined,
    { connectionsMax: 1, silenceTimeoutMs: 300 },
  )
  await deliver(transport)
  const second = await Promise.race([deliver(transport), sleep(4500, undefined)])
  expect(second).toMatchObject({ kind: 'delivered' })
})

test.each([
  ['two replies to one message', '250 2.0.0 taken\r\n250 2.0.0 taken'],
  ['the beginning of a second one', '250 2.0.0 taken\r\n250 2.0'],
])('after %s the connection is not used again', async (_, words) => {
  const { transport } = await between((line, { number }) =>
    line === '.' && number === 1 ? words : line.includes('<no@') ? '550 5.1.1 no' : undefined,
  )
  await deliver(transport)
  const recipients = ['no@example.net', 'yes@example.net']
  expect(await deliver(transport, { recipients })).toMatchObject([{ kind: 'failed' }, { kind: 'delivered' }])
})

test('after what is no answer to a message the connection is closed', async () => {
  // No connection is ended for being idle.
  const clock = heldClock()
  const { server, transport } = await between((line) => (line === '.' ? '354 go on' : undefined), { clock })
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.4.2' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test('without a host the nexthop is connected to', async () => {
  const { server } = await between()
  const transport = transportOf({})
  for (const nexthop of [
    `127.0.0.1:${server.port}`,
    `[127.0.0.1]:${server.port}`,
    `[IPv6:::ffff:127.0.0.1]:${server.port}`,
    `localhost:${server.port}`,
  ]) {
    expect(await deliver(transport, { nexthop })).toMatchObject({ kind: 'delivered' })
  }
})

test('a transport that was closed delivers for the next life, and uses its connections again', async () => {
  const { server, transport } = await between()
  await deliver(transport)
  transport.close?.()
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  await deliver(transport)
  expect(server.taken.map(({ session }) => session)).toEqual([1, 2, 2])
})

test('a connection that was being opened when the transport was closed is not used', async () => {
  let close: (() => void) | undefined
  const { server, transport } = await between((line) => {
    if (line.startsWith('EHLO')) close?.()
    return undefined
  })
  close = () => transport.close?.()
  expect(await deliver(transport)).toMatchObject({ kind: 'site' })
  close = undefined
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect(server.sessionCount()).toBe(2)
})

test('a connection of the place itself that was made when the transport was closed is dropped', async () => {
  const server = await scripted()
  const transport = localTransport(async () => {
    const socket = connect(server.port, server.host)
    await once(socket, 'connect')
    transport.close?.()
    return socket
  }, {})
  expect(await deliver(transport)).toMatchObject({ kind: 'site' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test('a connection of the place itself that cannot be made takes no place in the pool', async () => {
  const server = await scripted()
  let isBroken = true
  const connecting = async (): Promise<Socket> => {
    if (isBroken) throw new Error('no path to its socket')
    const socket = connect(server.port, server.host)
    await once(socket, 'connect')
    return socket
  }
  const transport = localTransport(connecting, { connectionsMax: 1 })
  onTestFinished(() => transport.close?.())
  await expect(deliver(transport)).rejects.toThrow('no path to its socket')
  isBroken = false
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})
