/** Attempts that are under way while the disk fills: what they have done is durable, while
 * others take room. */
import { expect, test } from 'vitest'
import type { DeliveryRequest, DeliveryResult, Outcome } from '../../../src/delivery/transport.js'
import type { Queue } from '../../../src/queue.js'
import {
  codeOf,
  deferred,
  delivered,
  empty,
  failed,
  fill,
  mail,
  patient,
  pause,
  simulated,
  submission,
  type Stage,
} from '../stage.js'

/** Deliveries to hang.example are answered when the test says so; all others are deferred at
 * once. */
interface Hanging {
  readonly queue: Queue
  /** Attempts that wait for their answer. */
  readonly attempts: { readonly recipients: readonly string[]; readonly answer: (outcome: Outcome) => void }[]
}

const deadSite: DeliveryResult = { kind: 'site', status: '4.4.1', reason: 'x'.repeat(400) }

async function openHanging(stage: Stage): Promise<Hanging> {
  const attempts: Hanging['attempts'] = []
  const queue = await stage.open({
    ...patient,
    transports: {
      out: {
        deliver: async ({ recipients }) => {
          if (!recipients[0]!.endsWith('hang.example')) return recipients.map(() => deferred)
          return new Promise((resolve) =>
            attempts.push({ recipients, answer: (outcome) => resolve(recipients.map(() => outcome)) }),
          )
        },
      },
    },
  })
  await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
  return { queue, attempts }
}

/** No byte more than now, and mail until it is refused. */
async function fillWithMail(stage: Stage, queue: Queue): Promise<void> {
  fill(stage)
  while ((await codeOf(queue.submit(submission('late@example.net')))) === 'accepted');
}

/** Recipients that get mail again when the process is killed and the disk has room. */
async function toldAgain(stage: Stage): Promise<string[]> {
  const again: string[] = []
  // Here timers overtake the rest of a turn.
  await stage.until('what was told is durable', () => stage.queue.stats().journal.stagedBytes === 0)
  empty(stage)
  const queue = await stage.open({
    ...patient,
    transports: {
      out: {
        deliver: async ({ recipients }) => {
          again.push(...recipients)
          return recipients.map(() => delivered)
        },
      },
    },
  })
  await stage.until('recovery ends', () => !queue.stats().recovering)
  await pause(stage, 3000)
  return again.filter((recipient) => recipient.endsWith('hang.example'))
}

/** Deletes what waits, one after the other, each with a checkpoint behind it: until nothing gets
 * room any more, or nothing is left. */
async function deleteEach(stage: Stage, { queue }: Hanging, count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    void codeOf(queue.delete({ recipient: `w${i}@example.net` }))
    await pause(stage, 200)
  }
}

async function beginHanging(stage: Stage, hanging: Hanging, messages: readonly string[][]): Promise<void> {
  for (const recipients of messages) await hanging.queue.submit(submission(recipients))
  await stage.until('the attempts are under way', () => hanging.attempts.length >= messages.length)
}

async function submitWaiting(stage: Stage, { queue }: Hanging, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await queue.submit(submission(`w${i}@example.net`, mail('x'.repeat(300))))
  await stage.until('all is deferred', () => queue.stats().activeCount === 0)
}

const single = (count: number): string[][] => Array.from({ length: count }, (_, i) => [`r${i}@hang.example`])

test.each<[string, readonly string[][], Outcome]>([
  ['a delivery', single(1), delivered],
  ['deliveries that trickle in', single(3), delivered],
  ['a delivery to many', [Array.from({ length: 15 }, (_, i) => `r${i}@hang.example`)], delivered],
  ['a refusal for good', single(2), failed],
])(
  'the record of %s is durable on a disk whose last room others have asked for',
  async (_, messages, outcome) => {
    await simulated(async (stage) => {
      const hanging = await openHanging(stage)
      await submitWaiting(stage, hanging, 60)
      await beginHanging(stage, hanging, messages)
      await fillWithMail(stage, hanging.queue)

      await deleteEach(stage, hanging, 60)
      for (const { answer } of hanging.attempts) {
        answer(outcome)
        await pause(stage, 200)
      }
      expect(await toldAgain(stage)).toEqual([])
    })
  },
)

test('no more attempts begin on a full disk than there is room for what becomes of them', async () => {
  await simulated(
    async (stage) => {
      const hanging = await openHanging(stage)
      const { queue, attempts } = hanging
      await submitWaiting(stage, hanging, 60)
      for (let i = 0; i < 30; i++)
        await queue.submit({ ...submission(`r@${i}.hang.example`), sender: 'hangs@example.org' })
      await stage.until('all are under way', () => attempts.length === 30)
      for (const { answer } of attempts.splice(0)) answer(deferred)
      await stage.until('all are deferred', () => queue.stats().activeCount === 0)
      await fillWithMail(stage, queue)
      void codeOf(queue.flush({ sender: 'hangs@example.org' }))
      await pause(stage, 3000)
      const underWay = attempts.splice(0)
      expect(underWay.length).toBeGreaterThan(0)
      expect(underWay.length).toBeLessThan(30)
      await deleteEach(stage, hanging, 60)
      for (const { answer } of underWay) {
        answer(delivered)
        await pause(stage, 200)
      }
      const again = await toldAgain(stage)
      for (const { recipients } of underWay) expect(again).not.toContain(recipients[0])
    },
    { seed: 1 },
  )
})

test('a site that dies on a full disk leaves an attempt elsewhere the room for its record', async () => {
  await simulated(async (stage) => {
    const attempts: { readonly recipient: string; readonly answer: (result: DeliveryResult) => void }[] = []
    const deliver = async ({ recipients }: DeliveryRequest): Promise<DeliveryResult> =>
      new Promise((answer) => attempts.push({ recipient: recipients[0]!, answer }))
    const queue = await stage.open({ ...patient, transports: { out: { deliver } } })
    await stage.until('the reserve is there', () => queue.stats().journal.spareCount >= 2)
    await queue.submit(submission('r@hang.example'))
    for (let i = 0; i < 200; i++) await queue.submit(submission(`r${i}@dead.example`))
    await stage.until(
      'attempts are under way',
      () => attempts.length > 5 && queue.stats().activeCount === 201,
    )
    await fillWithMail(stage, queue)
    const [hanging, ...others] = attempts.splice(0)
    for (const { answer } of others) answer(deadSite)
    await pause(stage, 1000)
    const left = queue.stats().destinations.find(({ name }) => name === 'dead.example')
    expect(left).toMatchObject({ state: { kind: 'dead' }, todo: 0 })
    hanging!.answer([delivered])
    await pause(stage, 1000)
    expect(await toldAgain(stage)).toEqual([])
  })
})
