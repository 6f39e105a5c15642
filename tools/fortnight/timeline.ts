/** The timeline of the fortnight as text: what its golden file holds.
 * Invariant: it follows from the ledger alone, and has the same bytes on every machine. */
import type { Ledger, Recipient } from './ledger.js'
import { flood } from './mail.js'
import { dayMs, hourMs, minuteMs, siteOf, sites, type Spell } from './sites.js'

const rowMs = 6 * hourMs
const headings = [
  'day time ',
  'accepted',
  'delivered',
  'put off',
  'bounced',
  'expired',
  'reports',
  'waiting',
  'dead',
]

export function timelineOf(ledger: Ledger): string {
  return [...rowsOf(ledger), '', ...sitesOf(ledger), '', ...factsOf(ledger), ''].join('\n')
}

interface Row {
  accepted: number
  delivered: number
  deferred: number
  bounced: number
  expired: number
  reports: number
}

/** Recipients, six hours a row. */
function rowsOf(ledger: Ledger): string[] {
  const rows: Row[] = []
  const row = (atMs: number): Row => {
    const index = Math.floor(atMs / rowMs)
    while (rows.length <= index)
      rows.push({ accepted: 0, delivered: 0, deferred: 0, bounced: 0, expired: 0, reports: 0 })
    return rows[index]!
  }
  for (const { acceptedMs, recipients } of ledger.messages.values()) {
    row(acceptedMs).accepted += recipients.size
    for (const { end } of recipients.values()) if (end !== undefined) row(end.atMs)[end.how]++
  }
  for (const atMs of ledger.deferralsMs) row(atMs).deferred++
  for (const atMs of ledger.reportsMs) row(atMs).reports++
  let waiting = 0
  return [
    headings.join(' '),
    ...rows.map((each, index) => {
      waiting += each.accepted - each.delivered - each.bounced - each.expired
      const { accepted, delivered, deferred, bounced, expired, reports } = each
      const counts = [accepted, delivered, deferred, bounced, expired, reports, waiting]
      const cells = counts.map((count, i) => String(count).padStart(headings[i + 1]!.length))
      const dead = deadIn(ledger, [index * rowMs, (index + 1) * rowMs])
      return `${timeOf(index * rowMs)} ${cells.join(' ')} ${dead}`.trimEnd()
    }),
  ]
}

/** Sites that died in this time, in the order of the table. */
const deadIn = ({ dead }: Ledger, [fromMs, toMs]: Spell): string =>
  sites
    .filter(({ domain }) =>
      dead.some((spell) => spell.domain === domain && spell.atMs >= fromMs && spell.atMs < toMs),
    )
    .map(({ domain }) => domain.replace('.example', ''))
    .join(' ')

function sitesOf(ledger: Ledger): string[] {
  const bySite = new Map<string, { readonly recipient: Recipient; readonly ageMs: number }[]>()
  for (const { recipients, acceptedMs } of ledger.messages.values())
    for (const recipient of recipients.values()) {
      const { domain } = siteOf(recipient.address)
      const ageMs = (recipient.end?.atMs ?? Infinity) - acceptedMs
      const list = bySite.get(domain) ?? []
      list.push({ recipient, ageMs })
      bySite.set(domain, list)
    }
  const lines = ['site             recipients attempts delivered bounced expired      median     longest']
  for (const { domain } of sites) {
    const list = bySite.get(domain) ?? []
    const count = (how: string): number => list.filter(({ recipient }) => recipient.end?.how === how).length
    const attempts = list.reduce((sum, { recipient }) => sum + recipient.attemptCount, 0)
    const ages = list.map(({ ageMs }) => ageMs).sort((a, b) => a - b)
    const cells = [
      domain.padEnd(16),
      String(list.length).padStart(10),
      String(attempts).padStart(8),
      String(count('delivered')).padStart(9),
      String(count('bounced')).padStart(7),
      String(count('expired')).padStart(7),
      durationOf(ages[Math.floor(ages.length / 2)] ?? 0).padStart(11),
      durationOf(ages.at(-1) ?? 0).padStart(11),
    ]
    lines.push(cells.join(' '))
  }
  return lines
}

function factsOf(ledger: Ledger): string[] {
  const all = [...ledger.messages.values()]
  const mail = all.filter(({ about }) => about === undefined)
  const floodEnds = mail.filter(({ isFlood }) => isFlood).map(({ recipients }) => endMsOf(recipients))
  const repeated = all.reduce(
    (sum, { recipients }) =>
      sum + [...recipients.values()].filter(({ deliveryCount }) => deliveryCount > 1).length,
    0,
  )
  return [
    `messages: ${mail.length}, and ${all.length - mail.length} reports, of which ` +
      `${mail.filter(({ warningCount }) => warningCount > 0).length} tell of a delay`,
    `the flood: ${floodEnds.length} messages from ${timeOf(flood.fromMs)} on, the last delivered ` +
      `${durationOf(Math.max(...floodEnds) - flood.fromMs)} later`,
    `the power was lost on ${timeOf(ledger.powerLossesMs[0]!)}; ${repeated} deliveries were repeated`,
    `the last recipient ended on ${timeOf(Math.max(...all.map(({ recipients }) => endMsOf(recipients))))}`,
  ]
}

const endMsOf = (recipients: ReadonlyMap<string, Recipient>): number =>
  Math.max(...Array.from(recipients.values(), ({ end }) => end?.atMs ?? Infinity))

const two = (value: number): string => String(value).padStart(2, '0')

/** Day 1 is the first. */
const timeOf = (atMs: number): string =>
  `${two(Math.floor(atMs / dayMs) + 1)}  ${two(Math.floor((atMs % dayMs) / hourMs))}:${two(Math.floor((atMs % hourMs) / minuteMs))}`

/** `5d 00:01:02` */
function durationOf(ms: number): string {
  const days = Math.floor(ms / dayMs)
  const clock = `${two(Math.floor((ms % dayMs) / hourMs))}:${two(Math.floor((ms % hourMs) / minuteMs))}:${two(Math.floor((ms % minuteMs) / 1000))}`
  return days === 0 ? clock : `${days}d ${clock}`
}
