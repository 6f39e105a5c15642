import { createServer, type AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { troubleOfError } from '../../../src/relay/smtp-out/smtp-outcome.js'
import { deliver } from '../request.js'
import { between, transportOf } from './smtp-out-fixture.js'

test('a delivered message has the reply of the server', async () => {
  const { transport } = await between()
  expect(await deliver(transport)).toEqual({ kind: 'delivered', response: '250 2.0.0 taken' })
})

test('each recipient has the outcome of its own RCPT', async () => {
  const { server, transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line.includes('<full@') ? '452 4.2.2 full' : undefined,
  )
  const recipients = ['yes@example.net', 'no@example.net', 'full@example.net', 'also@example.net']
  expect(await deliver(transport, { recipients })).toEqual([
    { kind: 'delivered', response: '250 2.0.0 taken' },
    { kind: 'failed', status: '5.1.1', reason: '550 5.1.1 no such user' },
    { kind: 'deferred', status: '4.2.2', reason: '452 4.2.2 full' },
    { kind: 'delivered', response: '250 2.0.0 taken' },
  ])
  expect(server.taken[0]?.recipients).toEqual(['yes@example.net', 'also@example.net'])
})

test('a recipient refused before the data is refused keeps its own outcome', async () => {
  const { transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line === '.' ? '451 4.7.1 greylisted' : undefined,
  )
  expect(await deliver(transport, { recipients: ['no@example.net', 'yes@example.net'] })).toEqual([
    { kind: 'failed', status: '5.1.1', reason: expect.stringContaining('no such user') as string },
    { kind: 'deferred', status: '4.7.1', reason: expect.stringContaining('greylisted') as string },
  ])
})

test('a recipient refused before the connection breaks keeps its own outcome', async () => {
  const { transport } = await between((line) =>
    line.includes('<no@') ? '550 5.1.1 no such user' : line === '.' ? { does: 'close' } : undefined,
  )
  expect(await deliver(transport, { recipients: ['no@example.net', 'yes@example.net'] })).toMatchObject([
    { kind: 'failed', status: '5.1.1' },
    {
      kind: 'deferred',
      status: '4.4.2',
      reason: expect.stringContaining('may have been delivered') as string,
    },
  ])
})

test.each([
  ['MAIL', '550 5.7.1 not you', 'failed', '5.7.1'],
  ['MAIL', '451 later', 'deferred', '4.0.0'],
  ['RCPT', '550 nobody', 'failed', '5.0.0'],
  ['RCPT', '552 too many recipients', 'deferred', '4.5.3'],
  ['DATA', '554 5.7.1 no', 'failed', '5.7.1'],
  ['DATA', '451 4.3.0 no', 'deferred', '4.3.0'],
  ['.', '554 5.6.0 spam', 'failed', '5.6.0'],
  ['.', '450-4.2.0 two\r\n450 4.2.0 lines', 'deferred', '4.2.0'],
  ['.', '550 4.2.0 class of code and status differ', 'failed', '5.0.0'],
  ['.', '503 bad sequence', 'deferred', '4.5.1'],
])('%s answered with "%s" is %s with status %s', async (verb, reply, kind, status) => {
  const { transport } = await between((line) => (line.startsWith(verb) ? reply : undefined))
  const result = await deliver(transport)
  expect(Array.isArray(result) ? result[0] : result).toMatchObject({ kind, status })
})

test.each([
  ['550 5.7.1 not you', 'failed', '5.7.1'],
  ['451 4.7.1 later', 'deferred', '4.7.1'],
])(
  'recipients behind a MAIL answered with "%s" have its outcome, not their 503',
  async (reply, kind, status) => {
    const { transport } = await between((line) =>
      line.startsWith('MAIL') ? reply : line.startsWith('RCPT') ? '503 5.5.1 need MAIL command' : undefined,
    )
    const recipients = ['one@example.net', 'two@example.net']
    expect(await deliver(transport, { recipients })).toMatchObject({
      kind,
      status,
      reason: expect.stringContaining(reply) as string,
    })
  },
)

test.each([
  ['451 4.3.0 not now', 'deferred', '4.3.0'],
  ['550 5.7.1 not you', 'failed', '5.7.1'],
])(
  'recipients behind a MAIL answered with "%s" have its outcome when the server then closes',
  async (reply, kind, status) => {
    const { transport } = await between((line) => {
      if (line.startsWith('MAIL')) return reply
      return line.startsWith('RCPT') ? '554 5.5.1 no sender' : line === 'DATA' ? { does: 'close' } : undefined
    })
    expect(await deliver(transport)).toMatchObject({ kind, status })
  },
)

test.each(['GREETING', 'EHLO', 'MAIL', 'RCPT', 'DATA'])(
  'a server that closes at %s is site trouble, and the data may not have been delivered',
  async (stage) => {
    const { transport } = await between((line) => (line.startsWith(stage) ? { does: 'close' } : undefined))
    const result = await deliver(transport)
    expect(result).toMatchObject({ kind: 'site' })
    expect(result).not.toMatchObject({ status: '4.4.2' })
  },
)

test.each(['GREETING', 'EHLO', 'MAIL', 'RCPT', 'DATA', '.'])(
  'a server that is silent at %s is site trouble after the timeout',
  async (stage) => {
    const { transport } = await between((line) => (line.startsWith(stage) ? { does: 'hang' } : undefined), {
      connectTimeoutMs: 300,
      greetingTimeoutMs: 300,
      silenceTimeoutMs: 300,
    })
    const result = await deliver(transport)
    expect(result).toMatchObject({ kind: 'site', status: stage === '.' ? '4.4.2' : '4.4.1' })
  },
)

const slow = 60_000
const patience = {
  heloTimeoutMs: slow,
  mailTimeoutMs: slow,
  rcptTimeoutMs: slow,
  dataInitTimeoutMs: slow,
  dataXferTimeoutMs: slow,
  dataDoneTimeoutMs: slow,
}

test.each([
  ['EHLO', 'heloTimeoutMs', ['PIPELINING']],
  ['MAIL', 'mailTimeoutMs', ['PIPELINING']],
  ['RCPT', 'rcptTimeoutMs', ['PIPELINING']],
  ['DATA', 'dataInitTimeoutMs', ['PIPELINING']],
  ['.', 'dataDoneTimeoutMs', ['PIPELINING']],
  ['MAIL', 'mailTimeoutMs', []],
  ['RCPT', 'rcptTimeoutMs', []],
  ['DATA', 'dataInitTimeoutMs', []],
  ['.', 'dataDoneTimeoutMs', []],
] as const)(
  'a server that is silent at %s is given up after %s, extensions %j',
  async (stage, name, offered) => {
    const { transport } = await between(
      (line) => (line.startsWith(stage) ? { does: 'hang' } : undefined),
      { ...patience, [name]: 100 },
      offered,
    )
    expect(await deliver(transport)).toMatchObject({
      kind: 'site',
      status: stage === '.' ? '4.4.2' : '4.4.1',
    })
  },
)

test('a server that takes no data is given up after dataXferTimeoutMs', async () => {
  const server = createServer((socket) => {
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => undefined)
    socket.write('220 x\r\n')
    socket.on('data', (chunk) => {
      const line = chunk.toString('latin1')
      if (line.startsWith('EHLO')) socket.write('250-x\r\n250 8BITMIME\r\n')
      else if (/^(MAIL|RCPT)/.test(line)) socket.write('250 x\r\n')
      else if (line.startsWith('DATA')) socket.write('354 x\r\n', () => socket.pause())
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void server.close())
  const { port } = server.address() as AddressInfo
  const transport = transportOf({ host: '127.0.0.1', port, ...patience, dataXferTimeoutMs: 200 })
  // More than any socket holds.
  const data = Buffer.alloc(64 << 20, 'x\r\n')
  expect(await deliver(transport, {}, data)).toMatchObject({ kind: 'site', status: '4.4.1' })
})

test('a greeting may take longer than a connection may', async () => {
  const { transport } = await between(
    (line) => (line === 'GREETING' ? { reply: '220 at last', afterMs: 1500 } : undefined),
    { connectTimeoutMs: 1000 },
  )
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('the answer to a message is waited for twice as long as others, and no longer than others for the next', async () => {
  const { transport } = await between(
    (line, { taken }) =>
      line === '.'
        ? { reply: '250 2.0.0 taken', afterMs: 1500 }
        : line.startsWith('RCPT') && taken > 0
          ? { reply: '250 2.1.5 ok', afterMs: 1500 }
          : undefined,
    { silenceTimeoutMs: 1000 },
    ['8BITMIME'],
  )
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.4.1' })
})

test('a connection lost after the final dot says that the message may have been delivered', async () => {
  const { transport } = await between((line) => (line === '.' ? { does: 'close' } : undefined))
  expect(await deliver(transport)).toMatchObject({
    kind: 'site',
    status: '4.4.2',
    reason: expect.stringContaining('may have been delivered') as string,
  })
})

test.each([
  ['554 5.3.2 go away', '4.3.2'],
  ['421 busy', '4.4.0'],
  ['SSH-2.0-OpenSSH_9.2', '4.5.0'],
])('the greeting "%s" is site trouble with status %s', async (greeting, status) => {
  const { transport } = await between((line) => (line === 'GREETING' ? greeting : undefined))
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status })
})

test.each(['EHLO', 'MAIL', 'RCPT', 'DATA', '.'])(
  'a server that goes away with 421 at %s is site trouble, and says nothing of the message',
  async (stage) => {
    const { transport } = await between((line) =>
      line.startsWith(stage) ? { reply: '421 4.3.2 going away', does: 'close' } : undefined,
    )
    expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.3.2' })
  },
)

test('a server that goes away with 421 at one recipient leaves those before it what they were told', async () => {
  const { transport } = await between((line) => {
    if (line.includes('<no@')) return '550 5.1.1 no such user'
    return line.includes('<one@') ? { reply: '421 4.3.2 going away', does: 'close' } : undefined
  })
  const putOff = {
    kind: 'deferred',
    status: '4.3.2',
    reason: expect.stringContaining('going away') as string,
  }
  const recipients = ['no@example.net', 'one@example.net', 'two@example.net']
  expect(await deliver(transport, { recipients })).toMatchObject([
    { kind: 'failed', status: '5.1.1' },
    putOff,
    putOff,
  ])
})

test('a server that says 421 of one recipient, and stays, has taken the message for the others alone', async () => {
  const { server, transport } = await between((line) => (line.includes('<one@') ? '421' : undefined))
  const recipients = ['one@example.net', 'two@example.net']
  expect(await deliver(transport, { recipients })).toMatchObject([
    { kind: 'deferred', status: '4.0.0' },
    { kind: 'delivered' },
  ])
  expect(server.taken[0]?.recipients).toEqual(['two@example.net'])
})

test.each([[undefined], [['8BITMIME']]])(
  'a server that answers DATA with 250 gets no data, for it may wait for commands (extensions %j)',
  async (extensions) => {
    const { server, transport } = await between(
      (line) => (line === 'DATA' ? '250 2.1.5 ok' : undefined),
      {},
      extensions,
    )
    const data = Buffer.from('Subject: x\r\n\r\nVRFY who\r\n')
    expect(await deliver(transport, {}, data)).toMatchObject({
      kind: 'site',
      status: '4.5.0',
      reason: expect.stringContaining('250 2.1.5 ok') as string,
    })
    expect(server.taken).toEqual([])
    expect(server.commands.filter((line) => line.includes('VRFY'))).toEqual([])
    await expect.poll(() => server.openCount()).toBe(0)
  },
)

test.each(['354 go\r\n250 2.0.0 taken', '354 go\r\n2', '354 go\r\n550 5.7.1 no'])(
  'a server that has said more than 354 gets no data: that would be taken for the answer to it (%j)',
  async (reply) => {
    const { server, transport } = await between((line) => (line === 'DATA' ? reply : undefined))
    expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.5.0' })
    expect(server.taken).toEqual([])
  },
)

test.each([
  ['RCPT TO:<one@', '250-2.1.5 one\r\n550 5.1.1 nobody'],
  ['RCPT TO:<one@', '550-5.1.1 nobody\r\n250 2.1.5 one'],
  ['RCPT TO:<one@', '250-2.1.5 one\r\nof us\r\n250 2.1.5 ok'],
  ['RCPT TO:<one@', '550 5.0.0 a line too many\r\n250 2.1.5 ok'],
  ['RCPT TO:<one@', '550 5.1.1 nobody\r\n550 5.1.1 nobody'],
  ['RCPT TO:<one@', '2500 2.1.5 ok'],
  ['MAIL', '550 5.0.0 a line too many\r\n250 2.1.0 ok'],
  ['DATA', '354-go\r\n451 4.3.0 later'],
])(
  'a server that has said to %s what may be another reply, or none, has said nothing: %j',
  async (verb, reply) => {
    for (const extensions of [['PIPELINING'], []]) {
      const { server, transport } = await between(
        (line) => (line.startsWith(verb) ? reply : undefined),
        {},
        extensions,
      )
      const recipients = ['one@example.net', 'two@example.net']
      const data = Buffer.from('VRFY who\r\n')
      expect(await deliver(transport, { recipients }, data)).toMatchObject({ kind: 'site', status: '4.5.0' })
      expect(server.taken).toEqual([])
      expect(server.commands.filter((line) => line.includes('VRFY'))).toEqual([])
      await expect.poll(() => server.openCount()).toBe(0)
    }
  },
)

test.each([
  '250-2.0.0 taken\r\n550 5.7.1 spam',
  '550-5.7.1 spam\r\n250 2.0.0 taken',
  '550 5.7.1 spam\r\n250 2.0.0 taken',
  '354 go\r\n250 2.0.0 taken',
  'what?',
])('a server that has said %j to the message may have it', async (reply) => {
  const { server, transport } = await between((line) => (line === '.' ? reply : undefined))
  expect(await deliver(transport)).toMatchObject({ kind: 'site', status: '4.4.2' })
  await expect.poll(() => server.openCount()).toBe(0)
})

test.each(['250 2.0.0 taken\r\n500 5.5.2 what?', '250 2.0.0 taken\r\n421 4.4.2 bye'])(
  'what stands behind the 250 to a message takes nothing back: %j',
  async (reply) => {
    const { transport } = await between((line) => (line === '.' ? reply : undefined))
    expect(await deliver(transport)).toEqual({ kind: 'delivered', response: '250 2.0.0 taken' })
  },
)

test('empty lines around replies are passed over', async () => {
  const { transport } = await between((line) => (line === 'DATA' ? '\r\n354 go\r\n\r\n' : undefined))
  expect(await deliver(transport)).toMatchObject({ kind: 'delivered' })
})

test('a port where nobody listens is site trouble that names it', async () => {
  const { server, transport } = await between()
  server.close()
  expect(await deliver(transport)).toMatchObject({
    kind: 'site',
    status: '4.4.1',
    reason: expect.stringContaining(`127.0.0.1:${server.port}`) as string,
  })
})

test.each([
  ['EMFILE', undefined, 'deferred'],
  ['ENFILE', undefined, 'deferred'],
  ['ENOBUFS', undefined, 'deferred'],
  ['ENOMEM', undefined, 'deferred'],
  ['ECONNREFUSED', undefined, 'site'],
  ['ECONNRESET', undefined, 'site'],
  ['EMFILE', '421 4.3.2 later', 'site'],
])('connect %s, after the reply %j, is %s', (originalCode, response, kind) => {
  const error = Object.assign(new Error(`connect ${originalCode}`), {
    code: 'ESOCKET',
    originalCode,
    response,
  })
  expect(troubleOfError(error).kind).toBe(kind)
})

test.each([
  ['connect EADDRNOTAVAIL 2001:db8::1:25 - Local (:::0)', 'site'],
  ['connect EADDRNOTAVAIL ::1:25 - Local (:::0)', 'site'],
  ['connect EADDRNOTAVAIL 192.0.2.1:25 - Local (0.0.0.0:0)', 'deferred'],
  ['bind EADDRNOTAVAIL 2001:db8::2', 'deferred'],
])('a server of IPv6 is no reason to spare its site on a machine without IPv6: %s is %s', (message, kind) => {
  const error = Object.assign(new Error(message), { code: 'ESOCKET', originalCode: 'EADDRNOTAVAIL' })
  expect(troubleOfError(error).kind).toBe(kind)
})
