/** Many submissions: each has one result, in order, whatever becomes of the others, the source or
 * the caller. */
import { setImmediate } from 'node:timers/promises'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import { submitMany, type SubmitResult } from '../../../src/engine/accept/submit-many.js'
import type { Submission } from '../../../src/engine/accept/submission.js'
import type { MessageId } from '../../../src/base/message-id.js'
import { WaybillError } from '../../../src/errors.js'

const one = (recipient: string): Submission => ({
  sender: 'a@example.org',
  recipients: [recipient],
  data: 'x',
})
const numbered = (count: number): Submission[] => Array.from({ length: count }, (_, i) => one(`${i}`))

const nameOf = ({ recipients: [first] }: Submission): string =>
  typeof first === 'string' ? first : (first?.address ?? '')

/** A queue whose answers the test gives. */
class Answers {
  readonly waiting: { readonly name: string; readonly settle: (error?: Error) => void }[] = []
  submittedCount = 0

  readonly submit = (submission: Submission): Promise<{ id: MessageId }> => {
    const name = nameOf(submission)
    this.submittedCount++
    return new Promise((resolve, reject) => {
      const settle = (error?: Error): void =>
        error === undefined ? resolve({ id: name as MessageId }) : reject(error)
      this.waiting.push({ name, settle })
    })
  }
}

const atOnce = async (submission: Submission): Promise<{ id: MessageId }> => {
  const name = nameOf(submission)
  if (name.startsWith('wrong')) throw new WaybillError('ADDRESS_INVALID', 'no')
  if (name.startsWith('full')) throw new WaybillError('DISK_FULL', 'no')
  return { id: name as MessageId }
}

/** What came, an id or a code each, and the error at the end. */
async function collected(results: AsyncIterable<SubmitResult>): Promise<{ came: string[]; error: unknown }> {
  const came: string[] = []
  try {
    for await (const { index, id, error } of results) came.push(`${index} ${id ?? error!.code}`)
    return { came, error: undefined }
  } catch (error) {
    return { came, error }
  }
}

async function* slowly(submissions: readonly Submission[], next: () => Promise<unknown>) {
  for (const submission of submissions) {
    await next()
    yield submission
  }
}

describe.each([
  ['an array', (all: Submission[]) => all],
  ['an asynchronous source', (all: Submission[]) => slowly(all, () => setImmediate())],
])('%s', (_, source) => {
  test('each has its result, in order, and one that is refused stops nothing', async () => {
    const all = [one('0'), one('wrong'), one('2')]
    expect(await collected(submitMany(atOnce, source(all), {}))).toEqual({
      came: ['0 0', '1 ADDRESS_INVALID', '2 2'],
      error: undefined,
    })
  })

  test('what the queue cannot take ends it, behind the results of all that was taken', async () => {
    const all = [one('0'), one('full'), one('2'), ...numbered(50)]
    const { came, error } = await collected(submitMany(atOnce, source(all), { underWayMax: 2 }))
    expect(came).toEqual(expect.arrayContaining(['0 0', '1 DISK_FULL']))
    expect(came.length).toBeLessThan(5)
    expect(error).toMatchObject({ code: 'DISK_FULL' })
  })
})

test('what is no submission has its result, too', async () => {
  const none = undefined as unknown as Submission
  const submit = (submission: Submission | undefined): Promise<{ id: MessageId }> =>
    submission === undefined ? Promise.reject(new WaybillError('OPTION_INVALID', 'no')) : atOnce(submission)
  expect(await collected(submitMany(submit, [none, one('1')], {}))).toEqual({
    came: ['0 OPTION_INVALID', '1 1'],
    error: undefined,
  })
})

test('an iterator may answer with promises that are not of this realm', async () => {
  const all = numbered(3)
  const foreign = runInNewContext('(value) => Promise.resolve(value)') as <T>(value: T) => Promise<T>
  const next = () => {
    const value = all.shift()
    return foreign(value === undefined ? { done: true, value } : { done: false, value })
  }
  const source = { [Symbol.asyncIterator]: () => ({ next }) } as unknown as AsyncIterable<Submission>
  expect((await collected(submitMany(atOnce, source, {}))).came).toEqual(['0 0', '1 1', '2 2'])
})

test('no more than the bound are under way, also while nobody reads', async () => {
  const queue = new Answers()
  const results = submitMany(queue.submit, numbered(100), { underWayMax: 5 })
  const first = results.next()
  await setImmediate()
  expect(queue.submittedCount).toBe(5)
  for (const { settle } of queue.waiting) settle()
  await first
  await setImmediate()
  expect(queue.submittedCount).toBe(5)
  await results.next()
  expect(queue.submittedCount).toBe(6)
})

test('a result does not wait for a source that is slow', async () => {
  const source = slowly([one('0'), one('1')], async () => {
    if (asked++ > 0) await new Promise(() => undefined)
  })
  let asked = 0
  const results = submitMany(atOnce, source, {})
  expect(await results.next()).toEqual({ done: false, value: { index: 0, id: '0' } })
})

test('an error of the source comes behind the results', async () => {
  const broken = new Error('the database is away')
  function* source() {
    yield one('0')
    throw broken
  }
  expect(await collected(submitMany(atOnce, source(), {}))).toEqual({ came: ['0 0'], error: broken })
})

test('a signal ends the wait for a source that hangs', async () => {
  const aborting = new AbortController()
  const source = slowly(numbered(3), () => new Promise(() => undefined))
  const ended = collected(submitMany(atOnce, source, { signal: aborting.signal }))
  await setImmediate()
  aborting.abort()
  expect(await ended).toMatchObject({ came: [], error: { code: 'SUBMIT_ABORTED' } })
})

test.each([
  ['stops reading', 1, 'stopped'],
  ['aborts', 2, 'SUBMIT_ABORTED'],
])('the source is closed when the caller %s', async (how, came, end) => {
  let isClosed = false
  const aborting = new AbortController()
  function* source() {
    try {
      yield* numbered(1000)
    } finally {
      isClosed = true
    }
  }
  const seen: string[] = []
  const reading = async (): Promise<string> => {
    const options = { underWayMax: 2, signal: aborting.signal }
    for await (const { id } of submitMany(atOnce, source(), options)) {
      seen.push(id!)
      if (how === 'stops reading') break
      aborting.abort()
    }
    return 'stopped'
  }
  const ended = await reading().catch((error: unknown) => (error as WaybillError).code)
  expect([ended, isClosed, seen.length]).toEqual([end, true, came])
})

test('a result says which messages were there before, by their keys', async () => {
  const twice = async (submission: Submission) => {
    const accepted = await atOnce(submission)
    return accepted.id === '1' ? { ...accepted, isDuplicate: true as const } : accepted
  }
  const results: SubmitResult[] = []
  for await (const result of submitMany(twice, numbered(3), {})) results.push(result)
  expect(results).toEqual([
    { index: 0, id: '0' },
    { index: 1, id: '1', isDuplicate: true },
    { index: 2, id: '2' },
  ])
})

test.each([
  ['a text', 'x', {}],
  ['nothing', undefined, {}],
  ['none under way', [], { underWayMax: 0 }],
  ['an option that there is not', [], { concurrency: 5 }],
])('%s is refused', async (_, source, options) => {
  const { error } = await collected(submitMany(atOnce, source as Submission[], options as object))
  expect(error).toMatchObject({ code: 'OPTION_INVALID' })
})
