import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { faultsOf, killed, summaryOf, type Evidence } from './kill.js'
import { numberedMail } from './mail.js'
import { hashOf } from './sink.js'
import { waybillPath } from './relay-process.js'
import type { Scenario } from './traffic.js'

const seed = Number(process.env['WAYBILL_SEED'] ?? 1)

test('the relay has been built', () => {
  expect(existsSync(waybillPath), 'npm run build').toBe(true)
})

test.each<[string, Omit<Scenario, 'seed'>, (number: number) => readonly string[]]>([
  [
    'every message that got 250 arrives byte-identical although the relay is killed ten times',
    { settledCount: 2000, sessionCount: 20, killCount: 10, lifeMsMax: 700 },
    () => ['ok-0'],
  ],
  [
    'recipients that are deferred first arrive once the relay is left alone',
    { settledCount: 1000, sessionCount: 20, killCount: 8, lifeMsMax: 1000 },
    (number) => [`defer${number % 3}-0`],
  ],
  [
    'of ten recipients the good ones arrive and the sender hears of the others once',
    { settledCount: 800, sessionCount: 10, killCount: 8, lifeMsMax: 800 },
    (number) =>
      Array.from({ length: 10 }, (_, i) =>
        i % 5 === number % 5 ? `fail-${i}` : i === 7 ? `defer1-${i}` : `ok-${i}`,
      ),
  ],
])(
  '%s',
  async (_name, scenario, recipients) => {
    const evidence = await killed({ ...scenario, seed }, recipients)
    process.stdout.write(`seed=${seed}: ${summaryOf(evidence)}\n`)
    expect(evidence.settled.size).toBeGreaterThanOrEqual(scenario.settledCount)
    expect(faultsOf(evidence).slice(0, 10), `replay with WAYBILL_SEED=${seed}`).toEqual([])
  },
  120_000,
)

/** One message to two recipients, a kill long after. */
function sound(): Evidence & { deliveries: Map<string, { atMs: number; hash: string }[]> } {
  const mail = numberedMail(1, 1, ['ok-0', 'fail-1'])
  const delivery = { atMs: 1000, hash: hashOf(mail.data) }
  return {
    settled: new Map([[1, mail]]),
    sent: new Map([[1, mail]]),
    kills: [{ atMs: 5000, busyCount: 0 }],
    deliveries: new Map([['1 ok-0.1@example.net', [delivery]]]),
    reports: [{ number: 1, messageId: '<a>', recipients: ['fail-1.1@example.net'], atMs: 2000 }],
  }
}

test('sound evidence has no fault', () => {
  expect(faultsOf(sound())).toEqual([])
})

test.each<[string, (evidence: ReturnType<typeof sound>) => Evidence]>([
  ['lost', (evidence) => ({ ...evidence, deliveries: new Map() })],
  [
    'changed',
    (evidence) => ({
      ...evidence,
      deliveries: new Map([['1 ok-0.1@example.net', [{ atMs: 1, hash: 'x' }]]]),
    }),
  ],
  [
    'twice',
    ({ deliveries, ...evidence }) => ({
      ...evidence,
      deliveries: new Map([...deliveries].map(([key, copies]) => [key, [...copies, ...copies]])),
    }),
  ],
  [
    'never sent',
    (evidence) => ({
      ...evidence,
      deliveries: new Map([...evidence.deliveries, ['2 ok-0.2@example.net', []]]),
    }),
  ],
  ['instead of', (evidence) => ({ ...evidence, reports: [] })],
  [
    'instead of',
    (evidence) => ({
      ...evidence,
      reports: evidence.reports.flatMap((report) => [report, { ...report, messageId: '<b>' }]),
    }),
  ],
  ['came twice', (evidence) => ({ ...evidence, reports: [...evidence.reports, ...evidence.reports] })],
])('evidence of a message %s is a fault', (fault, spoil) => {
  expect(faultsOf(spoil(sound())).join()).toContain(fault)
})
