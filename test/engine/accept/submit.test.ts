/** What may be submitted: everything else gets its own code, and nothing of it is delivered. */
import { getEventListeners } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable, Writable } from 'node:stream'
import { describe, expect, onTestFinished, test } from 'vitest'
import { nodeDisk } from '../../../src/disk/node-disk.js'
import type { Submission } from '../../../src/engine/accept/submission.js'
import type { DiskObserver } from '../../../src/sim/disk/sim-disk.js'
import { codeOf, deferred, delivered, failed, mail, real, simulated, stages, submission } from '../stage.js'

const wrong: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
  ['a recipient that is no address', { recipients: ['grace@example.net', 'nobody'] }, 'ADDRESS_INVALID'],
  ['a recipient with a line break', { recipients: ['grace@example.net\r\nDATA'] }, 'ADDRESS_INVALID'],
  ['a recipient that is no text', { recipients: [7] }, 'ADDRESS_INVALID'],
  ['a sender that is no address', { sender: 'ada' }, 'ADDRESS_INVALID'],
  ['a sender that is missing', { sender: undefined }, 'ADDRESS_INVALID'],
  ['no recipient', { recipients: [] }, 'RECIPIENTS_EMPTY'],
  ['recipients that are no list', { recipients: 'grace@example.net' }, 'OPTION_INVALID'],
  ['a member that there is not', { sendAt: 0 }, 'OPTION_INVALID'],
  ['an id of the kind that queues give', { id: '1M3250V050000000' }, 'OPTION_INVALID'],
  ['a message for nodemailer', { from: 'a@example.org', to: 'b@example.net', text: 'x' }, 'OPTION_INVALID'],
  ['a recipient with its name', { recipients: ['Grace <grace@example.net>'] }, 'ADDRESS_INVALID'],
  [
    'one recipient more than allowed',
    { recipients: Array.from({ length: 21 }, (_, i) => `r${i}@example.net`) },
    'RECIPIENTS_TOO_MANY',
  ],
  ['data over the limit', { data: 'x\r\n'.repeat(40_000) }, 'MESSAGE_TOO_LARGE'],
  [
    'a stream over the limit',
    { data: () => Readable.from(Array.from({ length: 41 }, () => 'x\r\n'.repeat(1000))) },
    'MESSAGE_TOO_LARGE',
  ],
  ['a line over 998 octets', { data: `${'x'.repeat(999)}\r\n` }, 'LINE_TOO_LONG'],
  [
    'a line over 998 octets over the pieces of a stream',
    { data: () => Readable.from(['x'.repeat(500), 'x'.repeat(499), '\r\n']) },
    'LINE_TOO_LONG',
  ],
  ['a NUL', { data: Buffer.from('a\0b\r\n') }, 'NUL_IN_DATA'],
  ['a NUL in a stream', { data: () => Readable.from([Buffer.from('a'), Buffer.from('\0')]) }, 'NUL_IN_DATA'],
  ['a stream that errors in the middle', { data: () => erring(2) }, 'DATA_INCOMPLETE'],
  ['a large stream that errors in the middle', { data: () => erring(20) }, 'DATA_INCOMPLETE'],
  ['a stream that is closed in the middle', { data: () => closing() }, 'DATA_INCOMPLETE'],
  ['a stream of things that are no bytes', { data: () => Readable.from([{ a: 1 }]) }, 'DATA_INCOMPLETE'],
  [
    'a large stream of numbers',
    { data: () => Readable.from([Array.from({ length: 9000 }, () => 10)]) },
    'DATA_INCOMPLETE',
  ],
  [
    'a large stream of wider numbers',
    { data: () => Readable.from([new Uint16Array(9000).fill(0x0a0a)]) },
    'DATA_INCOMPLETE',
  ],
  ['a signal that was aborted', { signal: AbortSignal.abort() }, 'SUBMIT_ABORTED'],
  ['a reference that is empty', { data: { ref: '' } }, 'OPTION_INVALID'],
  ['a reference that is too long', { data: { ref: 'x'.repeat(5000) } }, 'OPTION_INVALID'],
  // A restart would make another name of it.
  ['a reference with half a character', { data: { ref: 'a\ud800b' } }, 'OPTION_INVALID'],
  ['no data', { data: undefined }, 'OPTION_INVALID'],
  ['data that is no message', { data: 5 }, 'OPTION_INVALID'],
  [
    'a stream that nobody reads',
    { data: () => new Writable({ write: (_piece, _encoding, done) => done() }) },
    'OPTION_INVALID',
  ],
  [
    'a recipient that is an object without an address',
    { recipients: [{ notify: 'never' }] },
    'ADDRESS_INVALID',
  ],
  [
    'a recipient that is an object without a prototype',
    { recipients: [Object.assign(Object.create(null) as object, { adress: 'a@example.net' })] },
    'ADDRESS_INVALID',
  ],
  ['a recipient whose address is none', { recipients: [{ address: 'nobody' }] }, 'ADDRESS_INVALID'],
  ...[['never', 'failure'], [], 'success', ['sometimes'], null].map(
    (notify) =>
      [
        `a recipient with notify ${JSON.stringify(notify)}`,
        { recipients: [{ address: 'grace@example.net', notify }] },
        'OPTION_INVALID',
      ] as const,
  ),
  ...[
    'grace@example.net',
    'rfc822;',
    ';grace@example.net',
    'rfc 822;x',
    'rfc822;\u00e9',
    `rfc822;${'+'.repeat(165)}`,
    7,
  ].map(
    (orcpt) =>
      [
        `the original recipient ${String(orcpt).slice(0, 20)}`,
        { recipients: [{ address: 'grace@example.net', orcpt }] },
        'OPTION_INVALID',
      ] as const,
  ),
  ['an envelope id that is empty', { dsn: { id: '' } }, 'OPTION_INVALID'],
  ['an envelope id with a line break', { dsn: { id: 'a\r\nb' } }, 'OPTION_INVALID'],
  ['an envelope id of over 100 octets', { dsn: { id: 'x'.repeat(101) } }, 'OPTION_INVALID'],
  ['an envelope id that is over 100 octets as xtext', { dsn: { id: ' '.repeat(34) } }, 'OPTION_INVALID'],
  ['a return of something', { dsn: { return: 'something' } }, 'OPTION_INVALID'],
  ['a notify for all that is none', { dsn: { notify: ['often'] } }, 'OPTION_INVALID'],
  ['a request that is no object', { dsn: 'success' }, 'OPTION_INVALID'],
  ['a controller in place of its signal', { signal: new AbortController() }, 'OPTION_INVALID'],
]

function erring(pieceCount: number): Readable {
  return Readable.from(
    (function* () {
      for (let i = 0; i < pieceCount; i++) yield 'x'.repeat(900).concat('\r\n')
      throw new Error('the client vanished')
    })(),
  )
}

function closing(): Readable {
  const stream = new Readable({ read: () => undefined })
  stream.push('half a line')
  setImmediate(() => stream.destroy())
  return stream
}

test.each([10, 20_000])(
  'a stream of %d lines that does not destroy itself hears nothing more when it has been read',
  async (lineCount) => {
    for (const end of ['abort', 'crash'] as const) {
      let hasActed = false
      let act = (): void => undefined
      const before = (): void => act()
      await simulated(
        async (stage) => {
          const queue = await stage.open({ deliver: false })
          const pieces = ['A line.\r\n'.repeat(lineCount)]
          const stream = new Readable({ autoDestroy: false, read: () => stream.push(pieces.shift() ?? null) })
          const { signal, abort } = aborting()
          const errors: unknown[] = []
          act = () => {
            // The reader listens, and hears an error as nobody else does: it would end the process
            // afterwards.
            if (!stream.readableEnded || stream.listenerCount('error') > 0) return
            act = () => undefined
            hasActed = true
            stream.on('error', (error) => errors.push(error))
            if (end === 'abort') abort()
            else queue.crash()
          }
          await codeOf(queue.submit({ ...submission(), data: stream, signal }))
          expect([end, hasActed, errors]).toEqual([end, true, []])
        },
        { disk: { observer: { before } } },
      )
    }
  },
)

test('submissions that have one signal have one listener on it, and none when they have settled', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const { signal, abort } = aborting()
    const stalled = Array.from({ length: 20 }, () => new Readable({ read: () => undefined }))
    const codes = stalled.map((data) => codeOf(queue.submit({ ...submission(), data, signal })))
    expect(getEventListeners(signal, 'abort')).toHaveLength(1)
    abort()
    expect(new Set(await Promise.all(codes))).toEqual(new Set(['SUBMIT_ABORTED']))
    expect(getEventListeners(signal, 'abort')).toEqual([])
  })
})

function aborting(): { signal: AbortSignal; abort: () => void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

test('a stream that was destroyed before is refused with what it was destroyed for', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const stream = new Readable({ read: () => undefined }).on('error', () => undefined)
    const reason = new Error('the disk it came from')
    stream.destroy(reason)
    await expect(queue.submit({ ...submission(), data: stream })).rejects.toMatchObject({
      code: 'DATA_INCOMPLETE',
      cause: reason,
    })
  })
})

const limits = { dataBytesMax: 100_000, recipientCountMax: 20 }

describe.each(stages)('on the %s disk', (_, run) => {
  test.each(wrong)('%s is refused', async (_what, part, code) => {
    await run(
      async (stage) => {
        const queue = await stage.open()
        const given = { ...submission(), ...part }
        const data = typeof given.data === 'function' ? (given.data as () => unknown)() : given.data
        expect(await codeOf(queue.submit({ ...given, data } as Submission))).toBe(code)
        expect(await codeOf(queue.submit(submission('after@example.net')))).toBe('accepted')
        await stage.until('the other one is delivered', () => stage.told('delivered').length > 0)
        expect(stage.told('delivered')).toEqual(['after@example.net'])
        await stage.until('nothing is left', () => stage.isEmpty())
      },
      { queue: limits },
    )
  })

  test('text, bytes, streams small and large, and references are delivered as they were given', async () => {
    await run(async (stage) => {
      const queue = await stage.open({ dataBytesMax: 1_000_000 })
      const large = mail('y'.repeat(900).concat('\r\n').repeat(100))
      const kinds: readonly (readonly [string, Submission['data'], string])[] = [
        ['text', mail('é'), Buffer.from(mail('é')).toString('latin1')],
        ['empty', '', ''],
        ['bytes', Buffer.from([200, 201, 13, 10]), '\xc8\xc9\r\n'],
        ['large-text', large, large],
        ['stream', Readable.from(['a\r\n', Buffer.from('b\r\n')]), 'a\r\nb\r\n'],
        ['empty-stream', Readable.from([]), ''],
        ['large-stream', Readable.from(large.match(/[\s\S]{1,7000}/g)!), large],
        ['reference', { ref: 's3://bucket/key' }, 's3://bucket/key'],
      ]
      for (const [name, data] of kinds) await queue.submit({ ...submission(`${name}@example.net`), data })
      await stage.until('all are delivered', () => stage.told('delivered').length === kinds.length)
      const got = new Map(Array.from(stage.data, ([key, data]) => [key.split(' ')[1]!.split('@')[0], data]))
      for (const [name, , expected] of kinds) expect([name, got.get(name)]).toEqual([name, expected])
    })
  })

  test.each([[undefined], [null], ['Subject: hello']])('%j is no submission', async (nothing) => {
    await run(async (stage) => {
      const queue = await stage.open()
      expect(await codeOf(queue.submit(nothing as unknown as Submission))).toBe('OPTION_INVALID')
    })
  })

  test.each([
    ['one recipient', ['grace@example.net']],
    ['two', ['grace@example.net', 'linus@example.net']],
  ])(
    'a list of %s that its owner uses for the next submission stays what it was',
    async (_name, addresses) => {
      await run(async (stage) => {
        const queue = await stage.open()
        stage.answer = (_recipient, { attempts }) => (attempts === 0 ? deferred : delivered)
        const recipients = [...addresses]
        const settled = queue.submit({ ...submission(), recipients })
        recipients.fill('mallory@example.org')
        await settled
        await stage.until('all are delivered', () => stage.told('delivered').length === addresses.length)
        expect(stage.told('deferred')).toEqual(addresses)
        expect(stage.told('delivered')).toEqual(addresses)
      })
    },
  )

  test('a large buffer that its owner uses for the next message at once is delivered as it was', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      const text = mail('before '.repeat(10).concat('\r\n').repeat(3000))
      const data = Buffer.from(text)
      const settled = queue.submit({ ...submission(), data })
      data.fill('x')
      const { id } = await settled
      await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      expect(stage.data.get(`${id} grace@example.net`)).toBe(text)
    })
  })

  test('a buffer that its owner changes after the submission was settled is delivered as it was', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      const data = Buffer.from(mail('before'))
      await queue.submit({ ...submission(), data })
      data.fill('x')
      await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      expect([...stage.data.values()]).toEqual([mail('before')])
    })
  })

  test('recipients that no segment of a lane could hold are refused, though the journal could', async () => {
    await run(async (stage) => {
      const queue = await stage.open({ segmentBytes: 64 * 4096, laneSegmentBytes: 8 * 4096 })
      const recipients = Array.from({ length: 300 }, (_recipient, i) => `${'r'.repeat(280)}${i}@example.net`)
      expect(await codeOf(queue.submit(submission(recipients)))).toBe('MESSAGE_TOO_LARGE')
    })
  })

  test('the same address twice is one recipient, and the null sender is accepted', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      await queue.submit({ ...submission(['a@example.net', 'b@example.net', 'a@example.net']), sender: '' })
      await stage.until('they are delivered', () => stage.told('delivered').length === 2)
      expect(stage.told('delivered')).toEqual(['a@example.net', 'b@example.net'])
    })
  })

  test('every error carries the reply for a client that waits', async () => {
    await run(async (stage) => {
      const queue = await stage.open()
      await expect(queue.submit({ ...submission(), recipients: [] })).rejects.toMatchObject({
        code: 'RECIPIENTS_EMPTY',
        reply: { code: 554, enhanced: '5.5.1' },
      })
    })
  })
})

test('what is accepted can be deferred within the journal beside the report on what failed', async () => {
  const codes = new Set<string>()
  const header = mail().replace('\r\n\r\n', `\r\n${'X-Header: of the message\r\n'.repeat(180)}\r\n`)
  for (let recipientCount = 16; recipientCount <= 28; recipientCount++)
    await simulated(
      async (stage) => {
        stage.answer = (recipient, { attempts }) => {
          if (recipient.startsWith('r0.')) return failed
          return recipient.startsWith('r') && attempts === 0
            ? { ...deferred, reason: `${recipient.slice(0, 3)} ${'€'.repeat(490)}` }
            : delivered
        }
        const queue = await stage.open({ layout: 'single' })
        const recipients = Array.from({ length: recipientCount }, (_, i) => `r${i}.${'a'.repeat(480)}@b.test`)
        const code = await codeOf(queue.submit(submission(recipients, header)))
        codes.add(code)
        if (code !== 'accepted') return
        await stage.until(
          'the others and the report are delivered',
          () => stage.told('delivered').length === recipientCount,
        )
        expect(stage.warnings).toEqual([])
      },
      { queue: { laneSegmentBytes: 16 * 4096 } },
    )
  expect([...codes].sort()).toEqual(['MESSAGE_TOO_LARGE', 'accepted'])
})

test('a signal aborts a submission of large data until it is appended', async () => {
  await real(async (stage) => {
    const abort = new AbortController()
    const disk = nodeDisk(stage.directory)
    const open = disk.open.bind(disk)
    // When its data begins to be written.
    disk.open = (path, access) => {
      if (path.startsWith('spool/')) abort.abort()
      return open(path, access)
    }
    const queue = await stage.open({ disk })
    const data = Buffer.alloc(21 << 20, 'a line of a large message\r\n')
    expect(await codeOf(queue.submit({ ...submission(), data, signal: abort.signal }))).toBe('SUBMIT_ABORTED')
    expect(abort.signal.aborted).toBe(true)
  })
})

test('a signal aborts a submission while its key is looked up', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const abort = new AbortController()
    const submitted = codeOf(queue.submit({ ...submission(), idempotencyKey: 'a', signal: abort.signal }))
    abort.abort()
    expect(await submitted).toBe('SUBMIT_ABORTED')
    expect(await stage.ids()).toEqual([])
    expect(await queue.submit({ ...submission(), idempotencyKey: 'a' })).not.toHaveProperty('isDuplicate')
  })
})

test.each<[string, string, string]>([
  ['a duplicate', 'Subject: x\r\n', 'isDuplicate'],
  ['refused', `${'x'.repeat(2000)}\r\n`.repeat(5000), 'LINE_TOO_LONG'],
])('an HTTP request whose data is %s is answered', async (_, body, answer) => {
  await real(async (stage) => {
    const queue = await stage.open()
    const keyed = { ...submission(), idempotencyKey: 'a' }
    if (answer === 'isDuplicate') await queue.submit(keyed)
    const server = createServer((request, response) => {
      void queue.submit({ ...keyed, data: request }).then(
        (accepted) => response.end(Object.keys(accepted).at(-1)),
        ({ code }: { code: string }) => response.end(code),
      )
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
    const response = await fetch(url, { method: 'POST', body, headers: { connection: 'close' } })
    expect(await response.text()).toBe(answer)
  })
})

const umlauts = Buffer.from('Subject: x\r\n\r\ngr\xfc\xdfe!\r\n', 'latin1')

test.each<[string, () => Readable, Buffer]>([
  ...(['latin1', 'base64', 'hex', 'utf16le'] as const).map((encoding): [string, () => Readable, Buffer] => [
    encoding,
    () => new Readable({ read: () => undefined, encoding }),
    umlauts,
  ]),
  ['pieces that cut a character', () => Readable.from(['a\ud83d', '\ude00b']), Buffer.from('a\u{1f600}b')],
  ['half a character', () => Readable.from(['a\ud83d']), Buffer.from('a\ufffd')],
])('a stream that gives %s is submitted as the bytes it was made of', async (_, make, bytes) => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const data = make()
    if (!data.readableObjectMode) {
      data.push(umlauts.subarray(0, 15))
      data.push(umlauts.subarray(15))
      data.push(null)
    }
    const { id } = await queue.submit({ ...submission(), data })
    await queue.idle()
    expect(stage.data.get(`${id} grace@example.net`)).toBe(bytes.toString('latin1'))
  })
})

test('a signal aborts a submission whose stream has nothing more to say', async () => {
  await real(async (stage) => {
    const queue = await stage.open()
    const stalled = new Readable({ read: () => undefined })
    stalled.push('half a line')
    const submitted = codeOf(
      queue.submit({ ...submission(), data: stalled, signal: AbortSignal.timeout(20) }),
    )
    const late = new Promise<string>((resolve) => setTimeout(() => resolve('still waiting'), 20_000))
    expect(await Promise.race([submitted, late])).toBe('SUBMIT_ABORTED')
  })
})

test('a source that fills the buffer of a piece again while that is being written does not change what was submitted', async () => {
  const piece = Buffer.from('A line.\r\n'.repeat(3000))
  const data = piece.toString()
  const observer: DiskObserver = {
    before: ({ operation: { kind, path } }) => {
      if (kind === 'write' && path.startsWith('spool/')) piece.fill('Another.\r\n')
    },
  }
  await simulated(
    async (stage) => {
      await stage.open()
      const { id } = await stage.queue.submit({ ...submission(), data: Readable.from([piece]) })
      expect(piece.toString()).not.toBe(data)
      await stage.until('it is delivered', () => stage.told('delivered').length === 1)
      expect(stage.data.get(`${id} grace@example.net`)).toBe(data)
    },
    { disk: { observer } },
  )
})
