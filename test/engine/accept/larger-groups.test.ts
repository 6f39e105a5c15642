/** What is accepted finds room in a segment for every group that it may ever need, in later lives
 * and by an operator's orders too. */
import { expect, test } from 'vitest'
import type { QueueOptions } from '../../../src/engine/life/options.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import {
  codeOf,
  deferred,
  delivered,
  failed,
  gate,
  mail,
  patient,
  simulated,
  submission,
  type Answer,
  type Stage,
} from '../stage.js'

/** Lanes take what the journal takes, and a report has as many recipients as it can have. */
const queue: Partial<QueueOptions> = {
  laneSegmentBytes: 16 * 4096,
  reportRecipients: () => Array.from({ length: 6 }, (_, i) => `s${i}.${'a'.repeat(490)}@b.test`),
}
/** The report returns it, and is still no large one. */
const data = mail().replace('\r\n\r\n', `\r\n${'X-Header: of the message\r\n'.repeat(257)}\r\n`)

const recipientCount = 22

/** The first recipient fails, the others are deferred with as much to say as there can be; the
 * report is delivered. */
const lengthy: Answer = (recipient) => {
  if (!recipient.startsWith('r')) return delivered
  if (recipient.startsWith('r@')) return failed
  return {
    ...deferred,
    reason: `${String.fromCodePoint(0x4e00 + recipient.codePointAt(1)!)}${'€'.repeat(499)}`,
  }
}

/** Messages that fit easily, and larger ones up to those that are refused. @param accepted what is
 * done with each other
 * @returns how they were answered, and what was warned of */
async function eachSize(accepted: (stage: Stage) => Promise<void>): Promise<string[]> {
  const told = new Set<string>()
  for (let addressBytes = 310; addressBytes <= 390; addressBytes += 4)
    await simulated(
      async (stage) => {
        const recipients = Array.from({ length: recipientCount }, (_, i) =>
          i === 0 ? 'r@b.test' : `r${String.fromCharCode(96 + i)}.${'a'.repeat(addressBytes - 10)}@b.test`,
        )
        const first = await stage.open({ ...patient, deliver: false })
        const code = await codeOf(first.submit(submission(recipients, data)))
        told.add(code)
        if (code === 'accepted') await accepted(stage)
        for (const warning of stage.warnings) told.add(`a warning: ${warning}`)
      },
      { queue },
    )
  return [...told].sort()
}

test('what was accepted for lanes can be deferred in a life with one log, beside the report on what failed', async () => {
  const told = await eachSize(async (stage) => {
    stage.answer = lengthy
    await stage.open({ layout: 'single', retry: fixedRetry([60_000]) })
    await stage.until('it was attempted', () => stage.attempts.length >= recipientCount)
    await stage.until('it waits', () => stage.warnings.length > 0 || stage.queue.stats().activeCount === 0)
  })
  expect(told).toEqual(['MESSAGE_TOO_LARGE', 'accepted'])
})

test('what is rerouted while it is attempted is due at once, beside the report on what failed', async () => {
  const told = await eachSize(async (stage) => {
    const { opened, open } = gate()
    const out = await stage.open({
      ...patient,
      transports: {
        out: {
          deliver: async (request) => {
            await opened
            return request.recipients.map((recipient) => lengthy(recipient, request))
          },
        },
      },
    })
    await stage.until('it is attempted', () => out.stats().activeCount === 1)
    const rerouted = out.reroute({ all: true }, { nexthop: 'n'.repeat(255), transport: 'out' })
    open()
    expect(await rerouted).toMatchObject({
      messageCount: 1,
      failedCount: 0,
      recipientCount: recipientCount - 1,
    })
  })
  expect(told).toEqual(['MESSAGE_TOO_LARGE', 'accepted'])
})
