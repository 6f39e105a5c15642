/** What the log tells of sites and of limits, with a clock of the test. */
import { pino, type Logger } from 'pino'
import { expect, test } from 'vitest'
import { heldClock } from '../../held-clock.js'
import type { DestinationSnapshot } from '../../../src/scheduler/scheduler.js'
import { CertificateWatch } from '../../../tools/commands/log/certificate-watch.js'
import { LimitWatch } from '../../../tools/commands/log/limit-watch.js'
import { SiteWatch, sitesMax } from '../../../tools/commands/log/site-watch.js'

interface Line {
  readonly level: number
  readonly msg: string
}

function logged(): { log: Logger; lines: Line[] } {
  const lines: Line[] = []
  const log = pino(
    { base: null, timestamp: false },
    { write: (text) => lines.push(JSON.parse(text) as Line) },
  )
  return { log, lines }
}

const site = { transport: 'smtp', nexthop: 'a.test' }
const dead = { ...site, name: 'a.test', untilMs: 300_000, status: '4.4.1', text: 'nobody answers' }

test('a site that dies has one line, and one when mail is delivered there again', () => {
  const { log, lines } = logged()
  let nowMs = 0
  const sites = new SiteWatch(log, () => nowMs)
  sites.delivered(site)
  sites.dead(dead)
  nowMs = 300_000
  sites.dead({ ...dead, untilMs: 600_000 })
  sites.delivered({ transport: 'relay', nexthop: 'a.test' })
  expect(lines).toEqual([
    {
      level: 40,
      ...site,
      status: '4.4.1',
      text: 'nobody answers',
      until: '1970-01-01T00:05:00.000Z',
      msg: 'a site is dead',
    },
  ])
  nowMs = 400_000
  sites.delivered({ transport: 'smtp', nexthop: 'A.test' })
  sites.delivered(site)
  expect(lines.slice(1)).toEqual([
    { level: 30, transport: 'smtp', nexthop: 'A.test', deadMs: 400_000, msg: 'a site answers again' },
  ])
  sites.dead(dead)
  expect(lines).toHaveLength(3)
})

test('of more dead sites than are remembered the oldest is forgotten', () => {
  const { log, lines } = logged()
  const sites = new SiteWatch(log, () => 0)
  for (let i = 0; i <= sitesMax; i++) sites.dead({ ...dead, nexthop: `${i}.test` })
  const before = lines.length
  sites.delivered({ transport: 'smtp', nexthop: '0.test' })
  expect(lines).toHaveLength(before)
  sites.delivered({ transport: 'smtp', nexthop: '1.test' })
  expect(lines).toHaveLength(before + 1)
})

const quiet = { activeCount: 10, activeCountMax: 100, transports: [], destinations: [] }
const destination = (nexthop: string, busy: number, todo: number): DestinationSnapshot => ({
  transport: 'smtp',
  nexthop,
  name: nexthop,
  window: 5,
  busy,
  todo,
  state: { kind: 'ready' },
  recovery: 'none',
  rate: 0,
})

test('a full active queue is told with the site that fills it, again after five minutes, and its end', () => {
  const { log, lines } = logged()
  const limits = new LimitWatch(log, () => [destination('b.test', 1, 4), destination('slow.test', 5, 80)])
  const full = {
    ...quiet,
    activeCount: 90,
    // Those that wait for a limit.
    destinations: [destination('b.test', 1, 4)],
  }
  limits.look(full, 0)
  expect(lines).toEqual([])
  for (let nowMs = 1000; nowMs < 301_000; nowMs += 1000) limits.look(full, nowMs)
  const line = {
    level: 40,
    activeCount: 90,
    activeCountMax: 100,
    transport: 'smtp',
    nexthop: 'slow.test',
    count: 85,
    state: 'ready',
    msg: 'the active queue is full',
  }
  expect(lines).toEqual([line])
  limits.look(full, 301_000)
  expect(lines).toEqual([line, line])
  limits.look(quiet, 302_000)
  expect(lines.slice(2)).toMatchObject([{ level: 30, limit: 'active', activeCount: 10 }])
})

test('a process limit that delays mail is told; one that is reached and delays nothing is not', () => {
  const { log, lines } = logged()
  const limits = new LimitWatch(log, () => [])
  const withBusy = (delayedCount: number) => ({
    ...quiet,
    transports: [{ transport: 'smtp', busy: 100, processLimit: 100, delayedCount }],
  })
  for (let nowMs = 0; nowMs < 5000; nowMs += 1000) limits.look(withBusy(0), nowMs)
  expect(lines).toEqual([])
  for (let nowMs = 5000; nowMs < 9000; nowMs += 1000) limits.look(withBusy(7), nowMs)
  expect(lines).toEqual([
    {
      level: 40,
      transport: 'smtp',
      busy: 100,
      processLimit: 100,
      waiting: 7,
      msg: 'the process limit delays mail',
    },
  ])
  // A full second alone is no news, and neither is its end.
  limits.look(withBusy(0), 9000)
  limits.look(withBusy(7), 10_000)
  limits.look(withBusy(0), 11_000)
  expect(lines).toHaveLength(2)
})

test('a limit on what is sent is told once, whatever sites wait for it, and so is its end', () => {
  const { log, lines } = logged()
  const limits = new LimitWatch(log, () => [])
  const limit = { kind: 'tag', name: 'news', count: 600, perMs: 60_000, untilMs: 90_000 } as const
  const waiting = {
    ...quiet,
    destinations: ['a.test', 'b.test'].map((nexthop) => ({ ...destination(nexthop, 0, 0), limit })),
  }
  for (let nowMs = 0; nowMs < 5000; nowMs += 1000) limits.look(waiting, nowMs)
  const what = { kind: 'tag', name: 'news', count: 600, perMs: 60_000 }
  const until = '1970-01-01T00:01:30.000Z'
  expect(lines).toEqual([{ level: 40, ...what, nexthop: 'b.test', until, msg: 'mail waits for a limit' }])
  limits.look(quiet, 5000)
  limits.look(quiet, 6000)
  expect(lines.slice(1)).toMatchObject([{ level: 30, ...what, msg: 'a limit delays no mail any more' }])
})

test('a certificate has a line for each state that is wrong, when it is read and when the state begins', () => {
  const { log, lines } = logged()
  const clock = heldClock()
  const day = 86_400_000
  const certificates = new CertificateWatch(log, clock, 14 * day)
  const said = (): string[] => lines.splice(0).map(({ msg }) => msg)
  certificates.read(
    new Map([
      ['tls-cert', { fromMs: day, untilMs: 60 * day }],
      ['http-tls-cert', { fromMs: -day, untilMs: 400 * day }],
    ]),
  )
  expect(lines.splice(0)).toEqual([
    {
      level: 40,
      option: 'tls-cert',
      validFrom: '1970-01-02T00:00:00Z',
      msg: 'the certificate is not valid yet',
    },
  ])
  clock.advance(46 * day - 1)
  expect(said()).toEqual([])
  clock.advance(1)
  expect(said()).toEqual(['the certificate expires soon'])
  clock.advance(14 * day)
  expect(lines.splice(0)).toEqual([
    {
      level: 40,
      option: 'tls-cert',
      expiredAt: '1970-03-02T00:00:00Z',
      msg: 'the certificate has expired',
    },
  ])
  clock.advance(30 * day)
  expect(said()).toEqual([])
  certificates.read(new Map([['tls-cert', { fromMs: 0, untilMs: 60 * day }]]))
  expect(said()).toEqual(['the certificate has expired'])
  certificates.read(new Map([['tls-cert', { fromMs: 0, untilMs: 400 * day }]]))
  expect(said()).toEqual([])
  certificates.stop()
  expect(clock.runningCount).toBe(0)
})

test('a wall clock that is set shows within an hour that a certificate has expired', () => {
  const { log, lines } = logged()
  const clock = heldClock()
  let aheadMs = 0
  const wallMs = (): number => clock.wallMs() + aheadMs
  const certificates = new CertificateWatch(log, { ...clock, wallMs }, 1000)
  certificates.read(new Map([['tls-cert', { fromMs: 0, untilMs: 1e12 }]]))
  aheadMs = 2e12
  clock.advance(3_600_000)
  expect(lines.map(({ msg }) => msg)).toEqual(['the certificate has expired'])
})
