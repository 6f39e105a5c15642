/** The recipients of reports to a sender that is an alias. */
import { describe, expect, test } from 'vitest'
import type { QueueOptions } from '../../../src/engine/life/options.js'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { codeOf, delivered, failed, simulated, stages, submission, type Stage } from '../stage.js'

/** Who got the report of a message that failed. */
async function reported(
  stage: Stage,
  options: Partial<QueueOptions>,
  sender = 'info@example.org',
): Promise<string[]> {
  stage.answer = (recipient, { sender: from }) =>
    from !== '' || recipient.startsWith('gone') ? failed : delivered
  const queue = await stage.open(options)
  await queue.submit({ ...submission(), sender })
  await stage.until('nothing is left', () => stage.isEmpty())
  return stage.told('delivered')
}

const many = Array.from({ length: 40 }, (_, i) => `user${i}@example.org`)
const long = Array.from({ length: 8 }, (_, i) => `${i}${'x'.repeat(480)}@example.org`)

describe.each(stages)('on the %s disk', (_, run) => {
  test.each<[string, readonly string[], readonly string[]]>([
    [
      'those whom he stands for',
      ['ada@example.org', 'bob@example.net'],
      ['ada@example.org', 'bob@example.net'],
    ],
    ['himself, where he stands for nobody', [], ['info@example.org']],
    ['himself, where what he stands for is no address', ['nobody'], ['info@example.org']],
    ['each once', ['ada@example.org', 'ada@example.org'], ['ada@example.org']],
    ['the first of many', many, many.slice(0, 16)],
    ['as many of long names as it has room for', long, long.slice(0, 6)],
  ])('a report goes to %s', async (_, standsFor, recipients) => {
    await run(async (stage) => {
      expect((await reported(stage, { reportRecipients: () => standsFor })).sort()).toEqual(
        [...recipients].sort(),
      )
    })
  })

  test('the sender decides, and the answer at the time of the report', async () => {
    await run(async (stage) => {
      let standsFor = 'ada@example.org'
      const reportRecipients = (sender: string): string[] =>
        sender === 'info@example.org' ? [standsFor] : []
      expect(await reported(stage, { reportRecipients })).toEqual(['ada@example.org'])
      standsFor = 'bob@example.org'
      expect(await reported(stage, { reportRecipients })).toEqual(['ada@example.org', 'bob@example.org'])
      expect(await reported(stage, { reportRecipients }, 'eve@example.org')).toContain('eve@example.org')
    })
  })

  test('a report to the most that it can have finds room in the smallest lanes, whatever they answer', async () => {
    await run(async (stage) => {
      const names = Array.from(
        { length: 16 },
        (_, i) => `${String(i).padStart(2, '0')}${'y'.repeat(175)}@example.org`,
      )
      stage.answer = (recipient, { sender, attempts }) => {
        if (sender !== '') return failed
        return attempts < 2
          ? { kind: 'deferred', status: '4.2.2', reason: `${recipient} ${'é'.repeat(2000)}` }
          : delivered
      }
      const queue = await stage.open({ reportRecipients: () => names, retry: fixedRetry([20]) })
      await queue.submit({ ...submission(), sender: 'info@example.org' })
      await stage.until('nothing is left', () => stage.isEmpty())
      expect(stage.told('delivered').sort()).toEqual(names)
      expect(stage.warnings).toEqual([])
    })
  })

  test('a report on a message to nobody goes to nobody else when it fails', async () => {
    await run(async (stage) => {
      expect(await reported(stage, { reportRecipients: () => ['gone@example.org'] })).toEqual([])
      expect(stage.told('failed')).toEqual(['grace@example.net', 'gone@example.org'])
    })
  })

  test('what is no function is refused', async () => {
    await run(async (stage) => {
      const reportRecipients = ['ada@example.org'] as unknown as () => string[]
      expect(await codeOf(stage.open({ reportRecipients }))).toBe('OPTION_INVALID')
      await stage.open()
    })
  })
})

test.each<[string, () => unknown]>([
  [
    'throws',
    () => {
      throw new Error('no list today')
    },
  ],
  ['answers nothing', () => undefined],
  ['answers a text', () => 'ada@example.org'],
  ['answers later', () => Promise.resolve(['ada@example.org'])],
  ['rejects', () => Promise.reject(new Error('no list today'))],
])('a function that %s is told of and asked again, and the report is not lost', async (_, wrong) => {
  await simulated(async (stage) => {
    let isAsked = false
    const reportRecipients = (): string[] => {
      if (isAsked) return [['bob@example.org'], 'ada@example.org'] as string[]
      isAsked = true
      return wrong() as string[]
    }
    stage.answer = (_recipient, { sender }) => (sender === '' ? delivered : failed)
    const queue = await stage.open({ reportRecipients })
    await queue.submit({ ...submission(), sender: 'info@example.org' })
    await stage.until('it goes', () => stage.told('delivered').length === 1, 100_000)
    expect(stage.told('delivered')).toEqual(['ada@example.org'])
    expect(stage.warnings).toEqual(['OPTION_INVALID'])
  })
})
