/** What becomes of a submission that is repeated with its key. */
import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { codeOf, deferred, mail, pause, simulated, stages, submission, type Stage } from '../stage.js'

const keyed = (idempotencyKey: string, data: string | Readable = mail()) => ({
  ...submission(),
  data,
  idempotencyKey,
})

const deliveredIds = ({ attempts }: Stage): Set<string> => new Set(attempts.map(({ id }) => id))

test.each(stages)('%s: the same key makes one message, also in later lives', async (_, run) => {
  await run(async (stage) => {
    const { id, isDuplicate } = await (await stage.open()).submit(keyed('order-17'))
    expect(isDuplicate).toBeUndefined()
    for (let life = 0; life < 3; life++) {
      expect(await stage.queue.submit(keyed('order-17'))).toEqual({ id, isDuplicate: true })
      await stage.queue.idle()
      await pause(stage, 200)
      await stage.open()
    }
    const other = await stage.queue.submit(keyed('order-18'))
    await stage.queue.idle()
    expect(deliveredIds(stage)).toEqual(new Set([id, other.id]))
    expect(stage.told('delivered')).toHaveLength(2)
  })
})

test('submissions with one key at once are one message', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const all = await Promise.all(['a', 'b', 'c', 'd'].map(() => queue.submit(keyed('k'))))
    expect(new Set(all.map(({ id }) => id)).size).toBe(1)
    expect(all.filter(({ isDuplicate }) => isDuplicate)).toHaveLength(3)
    await queue.idle()
    expect(stage.told('delivered')).toHaveLength(1)
  })
})

test('a submission is repeated with its key when its time has passed, and is the duplicate that it is', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const late = { ...keyed('k'), expiresAt: stage.clock.wallMs() + 60_000 }
    const { id } = await queue.submit(late)
    await pause(stage, 120_000)
    expect(await queue.submit(late)).toEqual({ id, isDuplicate: true })
    expect(await codeOf(queue.submit({ ...late, idempotencyKey: 'other' }))).toBe('OPTION_INVALID')
  })
})

test('where the first submission with a key fails, the next one is the message', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const broken = new Readable({ read: () => undefined })
    const first = codeOf(queue.submit(keyed('k', broken)))
    const second = queue.submit(keyed('k'))
    stage.clock.after(10, () => broken.destroy(new Error('the client has gone')))
    expect(await first).toBe('DATA_INCOMPLETE')
    const { id, isDuplicate } = await second
    expect(isDuplicate).toBeUndefined()
    expect(await queue.submit(keyed('k'))).toEqual({ id, isDuplicate: true })
  })
})

test('a submission that waits for another with its key hears its signal, and makes no message', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const endless = new Readable({ read: () => undefined })
    const first = codeOf(queue.submit(keyed('k', endless)))
    const abort = new AbortController()
    const stream = Readable.from(['Subject: again\r\n'])
    const codes: string[] = []
    const second = codeOf(queue.submit({ ...keyed('k', stream), signal: abort.signal }))
    void second.then((code) => codes.push(code))
    abort.abort()
    await stage.until('it is aborted', () => codes.length > 0)
    expect([codes, stream.destroyed]).toEqual([['SUBMIT_ABORTED'], true])
    endless.destroy()
    expect(await first).toBe('DATA_INCOMPLETE')
    expect(await stage.ids()).toEqual([])
  })
})

test('a stream whose key is known is destroyed and not read', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    const { id } = await queue.submit(keyed('k'))
    const stream = Readable.from(['Subject: again\r\n'])
    expect(await queue.submit(keyed('k', stream))).toEqual({ id, isDuplicate: true })
    expect(stream.destroyed).toBe(true)
  })
})

test('a key outlives its message, and the segments of both logs, for as long as it is remembered', async () => {
  await simulated(async (stage) => {
    const options = { keyRetentionMs: 3_600_000 }
    await stage.open(options)
    const ids: string[] = []
    for (let i = 0; i < 300; i++)
      ids.push((await stage.queue.submit(keyed(`key-${i}-${'x'.repeat(150)}`))).id)
    await stage.queue.idle()
    await pause(stage, 1000)
    const keySegments = (): string[] => stage.disk!.image.files().filter((path) => path.startsWith('keys/'))
    const before = keySegments()
    expect(before.length).toBeGreaterThan(2)
    await stage.open(options)
    for (const i of [0, 1, 150, 299])
      expect(await stage.queue.submit(keyed(`key-${i}-${'x'.repeat(150)}`))).toMatchObject({ id: ids[i] })
    expect(stage.told('delivered')).toHaveLength(300)

    await pause(stage, 3_600_001)
    for (let i = 0; i < 200; i++) await stage.queue.submit(keyed(`new-${i}-${'x'.repeat(150)}`))
    const again = await stage.queue.submit(keyed(`key-0-${'x'.repeat(150)}`))
    expect(again.isDuplicate).toBeUndefined()
    await pause(stage, 1000)
    expect(keySegments().filter((path) => before.includes(path)).length).toBeLessThanOrEqual(2)
  })
})

test('as many keys are remembered as the option says, and mail without one is taken all the same', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ keyCountMax: 2 })
    await queue.submit(keyed('one'))
    const { id } = await queue.submit(keyed('two'))
    expect(await codeOf(queue.submit(keyed('three')))).toBe('KEYS_TOO_MANY')
    expect(await queue.submit(keyed('two'))).toEqual({ id, isDuplicate: true })
    expect(await codeOf(queue.submit(submission()))).toBe('accepted')
  })
})

test.each([
  ['in the journal alone', 0],
  ['in the log of keys', 300],
])('keys that have expired make room for others: %s', async (_, mailCount) => {
  await simulated(async (stage) => {
    const options = { keyCountMax: 2, keyRetentionMs: 3_600_000 }
    await stage.open(options)
    const { id } = await stage.queue.submit(keyed('one'))
    await stage.queue.submit(keyed('two'))
    for (let i = 0; i < mailCount; i++) await stage.queue.submit(submission())
    await pause(stage, 1000)
    expect(await codeOf(stage.queue.submit(keyed('three')))).toBe('KEYS_TOO_MANY')
    await pause(stage, 3_600_001)
    expect(await codeOf(stage.queue.submit(keyed('three')))).toBe('accepted')
    await stage.open(options)
    const again = await stage.queue.submit(keyed('one'))
    expect([again.isDuplicate, again.id === id]).toEqual([undefined, false])
    expect(await codeOf(stage.queue.submit(keyed('four')))).toBe('KEYS_TOO_MANY')
  })
})

test('of keys in one segment the oldest make room for others while the youngest are remembered', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open({ keyCountMax: 4, keyRetentionMs: 3_600_000 })
    for (const key of ['a', 'b', 'c', 'd']) {
      await queue.submit(keyed(key))
      for (let i = 0; i < 100; i++) await queue.submit(submission())
      await pause(stage, 900_000)
    }
    expect(await codeOf(queue.submit(keyed('e')))).toBe('accepted')
    expect(await queue.submit(keyed('d'))).toMatchObject({ isDuplicate: true })
    expect(await codeOf(queue.submit(keyed('f')))).toBe('KEYS_TOO_MANY')
  })
})

/** The stage's clock, with a wall clock that can be set. */
function settableClock(stage: Stage): { clock: Stage['clock']; ahead: { ms: number } } {
  const ahead = { ms: 0 }
  const clock = Object.create(stage.clock) as Stage['clock']
  Object.assign(clock, {
    wallMs: () => stage.clock.wallMs() + ahead.ms,
    monotonicMs: () => stage.clock.monotonicMs(),
    after: (ms: number, call: () => void) => stage.clock.after(ms, call),
    soon: (call: () => void) => stage.clock.soon(call),
  })
  return { clock, ahead }
}

test('a clock that is set ten years ahead forgets no key', async () => {
  await simulated(async (stage) => {
    const { clock, ahead } = settableClock(stage)
    await stage.open({ clock })
    const { id } = await stage.queue.submit(keyed('k'))
    ahead.ms = 315_360_000_000
    expect(await stage.queue.submit(keyed('k'))).toEqual({ id, isDuplicate: true })
    await stage.open({ clock })
    expect(await stage.queue.submit(keyed('k'))).toEqual({ id, isDuplicate: true })
  })
})

test('a clock that goes back for a while forgets no key of that while', async () => {
  await simulated(async (stage) => {
    const { clock, ahead } = settableClock(stage)
    await stage.open({ clock })
    ahead.ms = -172_800_000
    const { id } = await stage.queue.submit(keyed('k'))
    ahead.ms = 0
    expect(await stage.queue.submit(keyed('k'))).toEqual({ id, isDuplicate: true })
    await pause(stage, 86_500_000)
    expect((await stage.queue.submit(keyed('k'))).isDuplicate).toBeUndefined()
  })
})

test('keys behind one that came while the clock was ahead make room when they expire', async () => {
  await simulated(async (stage) => {
    const { clock, ahead } = settableClock(stage)
    await stage.open({ clock, keyCountMax: 3, keyRetentionMs: 60_000 })
    for (const key of ['a', 'b', 'c']) {
      ahead.ms = key === 'a' ? 36_000_000 : 0
      await stage.queue.submit(keyed(key))
      for (let i = 0; i < 100; i++) await stage.queue.submit(submission())
      await pause(stage, 1000)
    }
    expect(await codeOf(stage.queue.submit(keyed('d')))).toBe('KEYS_TOO_MANY')
    await pause(stage, 120_000)
    expect(await codeOf(stage.queue.submit(keyed('d')))).toBe('accepted')
  })
})

test('a queue that has seen no key has no log of keys', async () => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    await queue.submit(submission())
    await queue.idle()
    expect(stage.disk!.image.files().filter((path) => path.startsWith('keys'))).toEqual([])
  })
})

test('rot in the log of keys is reported, and costs keys and no mail', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    await stage.open()
    const { id } = await stage.queue.submit(keyed('k'))
    await pause(stage, 5000)
    stage.queue.crash()
    stage.disk!.image.flipBit('keys/000000000000.log', 4096 + 20, 0)
    await stage.open()
    const again = await stage.queue.submit(keyed('k'))
    expect(again.id).not.toBe(id)
    expect(stage.warnings).toEqual(['LOG_CORRUPT'])
    expect(await stage.ids()).toEqual([id, again.id].sort())
    expect(await stage.queue.submit(keyed('k'))).toEqual({ id: again.id, isDuplicate: true })
  })
})

test('rot costs the keys that stand behind it in its segment, at this start and at later ones', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    await stage.open()
    const key = (i: number): string => `key-${i}-${'x'.repeat(150)}`
    const ids: string[] = []
    for (let i = 0; i < 300; i++) ids.push((await stage.queue.submit(keyed(key(i)))).id)
    await pause(stage, 5000)
    stage.queue.crash()
    stage.disk!.image.flipBit('keys/000000000000.log', 4096 + 9000, 0)
    for (let life = 0; life < 2; life++) {
      await stage.open()
      for (const i of [0, 299]) expect(await stage.queue.submit(keyed(key(i)))).toMatchObject({ id: ids[i] })
      await pause(stage, 1000)
    }
    expect(stage.warnings.filter((code) => code === 'LOG_CORRUPT')).toHaveLength(2)
  })
})

test.each([
  ['', 'OPTION_INVALID'],
  ['x'.repeat(201), 'OPTION_INVALID'],
  [17, 'OPTION_INVALID'],
  ['ü'.repeat(100), 'accepted'],
])('the key %j is %s', async (key, code) => {
  await simulated(async (stage) => {
    const queue = await stage.open()
    expect(await codeOf(queue.submit(keyed(key as string)))).toBe(code)
  })
})
