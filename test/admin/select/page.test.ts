/** Pages of a listing, dry runs, and one message with its data: on the simulated disk. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { ActiveSet } from '../../../src/active/active-set.js'
import type { ListedMessage } from '../../../src/admin/select/listing.js'
import type { PageOptions } from '../../../src/admin/select/page.js'
import type { Selector } from '../../../src/admin/select/selector.js'
import type { DeliveryRequest, DeliveryResult } from '../../../src/delivery/transport.js'
import { MessageReader } from '../../../src/engine/message/message-reader.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import {
  codeOf,
  deferred,
  delivered,
  gate,
  mail,
  patient,
  pause,
  simulated,
  submission,
  type Stage,
} from '../../engine/stage.js'

/** Messages to r0, r1, … of example.net, in the lane of their retry. */
async function deferredQueue(stage: Stage, count: number): Promise<string[]> {
  stage.answer = () => deferred
  const queue = await stage.open(patient)
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const sender = `s${i % 2}@example.org`
    ids.push((await queue.submit({ ...submission(`r${i}@example.net`), sender })).id)
  }
  await stage.until('all wait', async () => {
    const { messages } = await queue.page({ lane: 'deferred' }, { max: 1000 })
    return messages.length === count
  })
  return ids
}

async function paged(
  stage: Stage,
  selector: Selector,
  options: PageOptions,
): Promise<{ readonly pages: ListedMessage[][]; readonly lookedAtCount: number }> {
  const pages: ListedMessage[][] = []
  let lookedAtCount = 0
  let after: string | undefined
  do {
    const page = await stage.queue.page(selector, { ...options, after })
    expect(page.damage).toBeUndefined()
    pages.push([...page.messages])
    lookedAtCount += page.lookedAtCount
    after = page.next
  } while (after !== undefined)
  return { pages, lookedAtCount }
}

const idsOf = (messages: readonly ListedMessage[]): string[] => messages.map(({ id }) => id)

test('pages give every message once, in the order of a listing', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 25)
    const listed: string[] = []
    for await (const { id } of stage.queue.list()) listed.push(id)
    const { pages } = await paged(stage, {}, { max: 4 })
    // One that took too long ends earlier.
    expect(Math.max(...pages.map((page) => page.length))).toBe(4)
    expect(pages.length).toBeGreaterThanOrEqual(7)
    expect(pages.flatMap(idsOf)).toEqual(listed)
  })
})

test('a page looks at so many messages at the most, and the next one goes on behind them', async () => {
  await simulated(async (stage) => {
    const ids = await deferredQueue(stage, 25)
    const { pages, lookedAtCount } = await paged(stage, { recipient: 'r20@example.net' }, { lookMax: 3 })
    expect(pages.length).toBeGreaterThan(8)
    expect(pages.flatMap(idsOf)).toEqual([ids[20]])
    expect(lookedAtCount).toBe(25)
  })
})

test('a page that finds nothing ends in time, too', async () => {
  await simulated(async (stage) => {
    const ids = await deferredQueue(stage, 600)
    let nowMs = stage.clock.monotonicMs()
    const clock = vi.spyOn(stage.clock, 'monotonicMs').mockImplementation(() => (nowMs += 250))
    const { pages, lookedAtCount } = await paged(stage, { recipient: 'r599@example.net' }, {})
    clock.mockRestore()
    // One ends behind the match in any case.
    expect(pages.length).toBeGreaterThan(2)
    expect(pages.flatMap(idsOf)).toEqual([ids[599]])
    expect(lookedAtCount).toBe(600)
  })
})

test('a page in the next life begins where the one before ended', async () => {
  await simulated(async (stage) => {
    const ids = await deferredQueue(stage, 10)
    const first = await stage.queue.page({}, { max: 6 })
    await stage.open(patient)
    const second = await stage.queue.page({}, { max: 6, after: first.next })
    expect([...idsOf(first.messages), ...idsOf(second.messages)].sort()).toEqual([...ids].sort())
    expect(second.next).toBeUndefined()
  })
})

test('active messages have pages, too', async () => {
  await simulated(async (stage) => {
    const held = gate()
    const queue = await stage.open({ transports: held.transports })
    const ids: string[] = []
    for (let i = 0; i < 7; i++) ids.push((await queue.submit(submission(`r${i}@example.net`))).id)
    await stage.until('all are active', () => queue.stats().activeCount === 7)
    const { pages } = await paged(stage, { lane: 'active' }, { max: 3 })
    expect(pages.map((page) => page.length)).toEqual([3, 3, 1])
    expect(pages.flatMap(idsOf)).toEqual(ids)
    held.open()
  })
})

/** A segment of other mail. */
async function passing({ queue }: Stage): Promise<void> {
  const data = mail('line\r\n'.repeat(640))
  await Promise.all(Array.from({ length: 16 }, () => queue.submit(submission('eve@example.com', data))))
}

/** Messages to several recipients each, a segment apart, whose recipients are read from the log. */
async function activeOnDisk(stage: Stage, held: ReturnType<typeof gate>, count: number): Promise<string[]> {
  const spy = vi.spyOn(ActiveSet.prototype, 'keepRecipients').mockImplementation((message) => {
    if (message.envelope.recipientCount > 1) message.forgetRecipients()
  })
  onTestFinished(() => spy.mockRestore())
  const deliver = ({ nexthop }: DeliveryRequest): DeliveryResult | Promise<DeliveryResult> =>
    nexthop === 'example.net' ? held.opened.then(() => delivered) : delivered
  const queue = await stage.open({ transports: { out: { deliver } } })
  const ids: string[] = []
  for (let n = 0; n < count; n++) {
    ids.push((await queue.submit(submission([`a${n}@example.net`, `b${n}@example.net`]))).id)
    await passing(stage)
  }
  await stage.until('all are attempted', () => queue.stats().transports[0]?.busy === count)
  return ids
}

/** All of it ends, and other mail comes to where it stood. */
async function recycled(stage: Stage, held: ReturnType<typeof gate>): Promise<void> {
  held.open()
  await stage.queue.idle()
  for (let n = 0; n < 3; n++) await passing(stage)
  await pause(stage, 5000)
}

test('a listing holds what it reads of active messages whose recipients are not in memory', async () => {
  await simulated(async (stage) => {
    const held = gate()
    const ids = await activeOnDisk(stage, held, 3)
    const listed: string[] = []
    for await (const { id } of stage.queue.list({ domain: 'example.net' })) {
      if (listed.push(id) === 1) await recycled(stage, held)
    }
    expect(listed).toEqual(ids)
  })
})

test('a page leaves out what ends while it is made, and takes it for no damage', async () => {
  await simulated(async (stage) => {
    const held = gate()
    const ids = await activeOnDisk(stage, held, 3)
    const addressees = Reflect.get(MessageReader.prototype, 'addressees') as MessageReader['addressees']
    const first = vi.spyOn(MessageReader.prototype, 'addressees').mockImplementationOnce(async function (
      this: MessageReader,
      message,
      from,
      count,
    ) {
      const read = await addressees.call(this, message, from, count)
      await recycled(stage, held)
      return read
    })
    onTestFinished(() => first.mockRestore())
    // No page takes so long.
    const clock = vi.spyOn(stage.clock, 'monotonicMs').mockReturnValue(stage.clock.monotonicMs())
    const { messages, damage } = await stage.queue.page()
    clock.mockRestore()
    expect([damage, idsOf(messages)]).toEqual([undefined, [ids[0]]])
  })
})

test('a cursor that no page has given is refused, and nothing is taken for damage', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 3)
    const { next } = await stage.queue.page({ lane: 'deferred' }, { max: 1 })
    const [lane, at] = next!.slice(1).split('.').map(Number)
    const made = [
      '',
      'x1.2',
      'a0.64',
      'aUNKNOWN',
      'w1',
      `w${lane}.${at! + 8}`,
      `w${lane}.9000000000000000`,
      'w1.99999999999999999',
    ]
    for (const after of made)
      expect([after, await codeOf(stage.queue.page({}, { after }))]).toEqual([after, 'OPTION_INVALID'])
    expect(stage.warnings).toEqual([])
  })
})

test('a dry run counts what the verb is carried out on, shows the first, and does nothing', async () => {
  await simulated(async (stage) => {
    const ids = await deferredQueue(stage, 9)
    const selector = { sender: 's0@example.org' }
    const dry = await stage.queue.delete(selector, { dryRun: true, sampleMax: 2 })
    expect({ ...dry, sample: idsOf(dry.sample!) }).toEqual({
      messageCount: 5,
      recipientCount: 5,
      missedCount: 0,
      failedCount: 0,
      sample: [ids[0], ids[2]],
    })
    expect(await stage.ids()).toEqual([...ids].sort())
    const { messageCount } = await stage.queue.delete(selector)
    expect(messageCount).toBe(5)
  })
})

test('a dry run passes over what the verb would leave as it is', async () => {
  await simulated(async (stage) => {
    await deferredQueue(stage, 6)
    await stage.queue.hold({ sender: 's0@example.org' })
    const count = async (dry: Promise<{ readonly messageCount: number }>): Promise<number> =>
      (await dry).messageCount
    const dryRun = { dryRun: true }
    expect(await count(stage.queue.hold({ all: true }, dryRun))).toBe(3)
    expect(await count(stage.queue.release({ all: true }, dryRun))).toBe(3)
    expect(await count(stage.queue.flush({ all: true }, dryRun))).toBe(3)
    expect(await count(stage.queue.reroute({ all: true }, { nexthop: 'mail.example' }, dryRun))).toBe(6)
    expect(await codeOf(stage.queue.expire({}, dryRun))).toBe('OPTION_INVALID')
  })
})

test('a message is found by its id, with its data, small or large, waiting or active', async () => {
  await simulated(async (stage) => {
    const held = gate()
    const queue = await stage.open({ transports: held.transports, retry: fixedRetry([1000]) })
    const large = mail('x'.repeat(70).concat('\r\n').repeat(4000))
    const sent = [
      await queue.submit(submission('a@example.net')),
      await queue.submit(submission('b@example.net', large)),
      await queue.submit({ ...submission('c@example.net', large), hold: true }),
    ]
    const texts: string[] = []
    for (const { id } of sent) {
      const stored = (await queue.message(id))!
      expect(stored.message.id).toBe(id)
      const pieces: Buffer[] = []
      for await (const piece of stored.data()) pieces.push(piece)
      texts.push(Buffer.concat(pieces).toString())
    }
    expect(texts).toEqual([mail(), large, large])
    expect(await queue.message('0')).toBeUndefined()
    held.open()
  })
})
