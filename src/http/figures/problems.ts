/** What an operator should look at, in sentences. Pure.
 * Invariant: a problem stands here as long as its cause does; a `warning` of the queue, which is an
 * event, for an hour. */
import { countText } from '../../base/text.js'
import type { Room } from '../../engine/accept/space-watch.js'
import { isOrdered } from '../../engine/deliver/destinations-now.js'
import { everyName } from '../../engine/life/suspensions.js'
import type { QueueStatistics } from '../../admin/select/statistics.js'
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'

export interface Problem {
  readonly code: string
  readonly severity: 'critical' | 'warning' | 'notice'
  /** A sentence. */
  readonly text: string
  readonly subject: { readonly lane?: number; readonly transport?: string; readonly name?: string }
  /** A page of this repository, with its section. */
  readonly help: string | null
}

/** What the relay knows beside its queue. */
export interface RelayFacts {
  /** Of the certificate that clients are shown, milliseconds since 1970. */
  readonly certificateExpiresAt?: number | undefined
  /** The last reload was refused. */
  readonly isReloadRefused?: boolean
}

export interface Warned {
  readonly code: string
  readonly message: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface Known {
  readonly statistics: QueueStatistics
  readonly room: Room | undefined
  readonly facts: RelayFacts
  readonly warnings: readonly Warned[]
  readonly wallMs: number
}

const day = 86_400_000
const expirySoonMs = 14 * day
const warnedMs = 3_600_000
const deadShownMax = 10
/** Twice what a queue wants free. */
const lowBytes = 512 * 1024 * 1024

const directoryPage = 'src/directory/README.md'
const servePage = 'src/relay/SERVE.md'
const operatingPage = 'tools/commands/OPERATING.md'

type Told = Omit<Problem, 'subject' | 'help'> & Partial<Problem>

const problem = (told: Told): Problem => ({ subject: {}, help: null, ...told })

/** The worst first. */
export function problemsOf(known: Known): Problem[] {
  const all = [...ofQueue(known), ...ofRoom(known), ...ofDestinations(known), ...ofRelay(known)]
  const order = ['critical', 'warning', 'notice']
  return all.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}

function* ofQueue({ statistics }: Known): Generator<Problem> {
  const { recovering, damagedCount, lanes, deliveries, journal } = statistics
  if (recovering)
    yield problem({
      code: 'RECOVERING',
      severity: 'notice',
      text: 'A recovery reads what was being worked on: mail is accepted, and nothing is attempted yet.',
    })
  for (const { lane, damage } of lanes)
    if (damage !== undefined)
      yield problem({
        code: 'LANE_DAMAGED',
        severity: 'critical',
        text: `Lane ${lane} stands still: ${damage}.`,
        subject: { lane },
        help: `${directoryPage}#damage`,
      })
  if (damagedCount > 0)
    yield problem({
      code: 'MESSAGES_DAMAGED',
      severity: 'critical',
      text: `${countText(damagedCount, 'message')} that the recovery could not read: no verb reaches them.`,
      help: `${directoryPage}#damage`,
    })
  if (deliveries.isHeld)
    yield problem({
      code: 'DELIVERIES_HELD',
      severity: 'critical',
      text: `The disk has not answered a synced write for ${seconds(journal.syncUnderWayMs)}: no delivery begins.`,
      help: `${directoryPage}#a-disk-that-hangs`,
    })
  else if (journal.syncUnderWayMs > 1000)
    yield problem({
      code: 'DISK_HANGS',
      severity: 'warning',
      text: `A synced write has been under way for ${seconds(journal.syncUnderWayMs)}.`,
      help: `${directoryPage}#a-disk-that-hangs`,
    })
}

function* ofRoom({ statistics, room }: Known): Generator<Problem> {
  if (room?.isShort === true || statistics.journal.diskFull)
    yield problem({
      code: 'DISK_FULL',
      severity: 'critical',
      text:
        room?.shortOf === 'files'
          ? 'The disk has too few free inodes: no new mail is accepted.'
          : 'The disk is too full: no new mail is accepted.',
      help: `${directoryPage}#a-full-disk`,
    })
  else if (room !== undefined && room.freeBytes < lowBytes)
    yield problem({
      code: 'DISK_LOW',
      severity: 'warning',
      text: `The disk has ${Math.floor(room.freeBytes / 1024 / 1024)} MiB free.`,
      help: `${directoryPage}#a-full-disk`,
    })
}

const isDead = ({ state }: DestinationSnapshot): boolean => state.kind === 'dead'

const namesMax = 3

const suspendedNames = (ordered: readonly DestinationSnapshot[]): string => {
  const names = ordered
    .slice(0, namesMax)
    .map(({ transport, name }) => (name === everyName ? `all of ${transport}` : name))
  const more = ordered.length - names.length
  return [...names, ...(more > 0 ? [`${more} more`] : [])].join(', ')
}

function* ofDestinations({ statistics }: Known): Generator<Problem> {
  const dead = statistics.destinations.filter(isDead)
  for (const { transport, name, state } of dead.slice(0, deadShownMax))
    if (state.kind === 'dead')
      yield problem({
        code: 'DESTINATION_DEAD',
        severity: 'warning',
        text: `${name} (${transport}) does not answer: ${state.reason.text}`,
        subject: { transport, name },
        help: `${operatingPage}#acting-on-mail`,
      })
  const ordered = statistics.destinations.filter(isOrdered)
  if (ordered.length > 0)
    yield problem({
      code: 'DESTINATIONS_SUSPENDED',
      severity: 'notice',
      text: `An operator has suspended ${suspendedNames(ordered)}: mail for it waits.`,
      help: `${operatingPage}#suspending-destinations`,
    })
  if (dead.length > deadShownMax)
    yield problem({
      code: 'DESTINATION_DEAD',
      severity: 'warning',
      text: `${countText(dead.length - deadShownMax, 'more destination')} do not answer.`,
      help: `${operatingPage}#acting-on-mail`,
    })
}

function* ofRelay({ facts, warnings, wallMs }: Known): Generator<Problem> {
  const { certificateExpiresAt, isReloadRefused = false } = facts
  if (certificateExpiresAt !== undefined && certificateExpiresAt <= wallMs)
    yield problem({
      code: 'CERTIFICATE_EXPIRED',
      severity: 'critical',
      text: `The certificate has expired on ${dateOf(certificateExpiresAt)}.`,
      help: `${servePage}#ports-and-tls`,
    })
  else if (certificateExpiresAt !== undefined && certificateExpiresAt - wallMs < expirySoonMs)
    yield problem({
      code: 'CERTIFICATE_EXPIRES',
      severity: 'warning',
      text: `The certificate expires on ${dateOf(certificateExpiresAt)}.`,
      help: `${servePage}#ports-and-tls`,
    })
  if (isReloadRefused)
    yield problem({
      code: 'RELOAD_REFUSED',
      severity: 'warning',
      text: 'The last reload was refused, and the files of before are used: the log says why.',
      help: `${servePage}#changed-files`,
    })
  for (const { code, message, at } of warnings)
    if (code === 'FILE_SYSTEM')
      yield problem({
        code: 'STORE_UNSAFE',
        severity: 'warning',
        text: sentence(message),
        help: directoryPage,
      })
    else if (wallMs - at < warnedMs)
      yield problem({ code: 'WARNINGS', severity: 'warning', text: `${code}: ${sentence(message)}` })
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`)
