/** The problems of a queue, in sentences for an operator. Pure.
 * Invariant: a problem stands here as long as its cause does; a `warning` of the queue, which is an
 * event, for an hour. */
import { countText, digitsText } from '../../base/text.js'
import type { Room } from '../../engine/accept/space-watch.js'
import { isOrdered, largestOf } from '../../engine/deliver/destinations-now.js'
import { everyName } from '../../engine/life/suspensions.js'
import type { QueueStatistics } from '../../admin/select/statistics.js'
import type { DestinationSnapshot } from '../../scheduler/scheduler.js'
import { noStrain, type Strain } from './strain-watch.js'

export type Severity = 'critical' | 'warning' | 'notice'

export type ProblemCause =
  | 'RECOVERING'
  | 'LANE_DAMAGED'
  | 'MESSAGES_DAMAGED'
  | 'DELIVERIES_HELD'
  | 'DISK_HANGS'
  | 'DISK_SLOW'
  | 'DISK_FULL'
  | 'DISK_LOW'
  | 'DESTINATION_DEAD'
  | 'DESTINATION_SILENT'
  | 'DESTINATIONS_SUSPENDED'
  | 'ACTIVE_FULL'
  | 'PROCESS_LIMIT'
  | 'NOTHING_DELIVERED'
  | 'WEBHOOK_UNANSWERED'
  | 'CERTIFICATE_EXPIRED'
  | 'CERTIFICATE_EXPIRES'
  | 'RELOAD_REFUSED'
  | 'STORE_UNSAFE'
  | 'WARNINGS'

interface Kind {
  readonly severity: Severity
  readonly means: string
}

/** Every problem, with its severity and meaning. ERRORS.md is made of it. */
export const problemCatalogue: Readonly<Record<ProblemCause, Kind>> = {
  RECOVERING: {
    severity: 'notice',
    means: 'A recovery is under way: mail is accepted, and nothing is attempted yet',
  },
  LANE_DAMAGED: { severity: 'critical', means: 'A lane stands still, because its log is damaged' },
  MESSAGES_DAMAGED: {
    severity: 'critical',
    means: 'The recovery could not read messages: no verb reaches them',
  },
  DELIVERIES_HELD: {
    severity: 'critical',
    means: 'The disk does not answer a synced write: no delivery begins',
  },
  DISK_HANGS: { severity: 'warning', means: 'A synced write has been under way for more than a second' },
  DISK_SLOW: {
    severity: 'warning',
    means: 'Synced writes of the last minute have taken more than half a second',
  },
  DISK_FULL: {
    severity: 'critical',
    means: 'The disk has too little room, or too few inodes: new mail is refused',
  },
  DISK_LOW: { severity: 'warning', means: 'The disk has less than 512 MiB free' },
  DESTINATION_DEAD: { severity: 'warning', means: 'A destination does not answer, and rests' },
  DESTINATION_SILENT: {
    severity: 'warning',
    means: 'Mail waits for deliveries to a destination, of which none has ended for a minute',
  },
  ACTIVE_FULL: {
    severity: 'warning',
    means: 'The active queue is nearly full: the largest destination is put off',
  },
  PROCESS_LIMIT: { severity: 'notice', means: 'The process limit of a transport delays mail' },
  NOTHING_DELIVERED: { severity: 'warning', means: 'The relay was started with `--freeze`' },
  WEBHOOK_UNANSWERED: {
    severity: 'warning',
    means: 'The receiver of the webhook does not answer 2xx: outcomes wait',
  },
  DESTINATIONS_SUSPENDED: {
    severity: 'notice',
    means: 'An operator has suspended destinations: mail for them waits',
  },
  CERTIFICATE_EXPIRED: { severity: 'critical', means: 'The certificate that clients are shown has expired' },
  CERTIFICATE_EXPIRES: { severity: 'warning', means: 'That certificate expires within 14 days' },
  RELOAD_REFUSED: { severity: 'warning', means: 'The last reload was refused: the files of before are used' },
  STORE_UNSAFE: { severity: 'warning', means: 'The file system does not keep what a queue relies on' },
  WARNINGS: { severity: 'warning', means: 'A `warning` of the last hour' },
}

export interface Problem {
  readonly code: ProblemCause
  readonly severity: Severity
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
  /** It was started with `--freeze`. */
  readonly isFrozen?: boolean
  /** Why the webhook's last request has failed; undefined: it has not. */
  readonly webhookTrouble?: string | undefined
  /** Outcomes that the webhook has not taken. */
  readonly webhookWaitingCount?: number
}

export interface Warned {
  readonly code: string
  readonly message: string
  /** Milliseconds since 1970. */
  readonly at: number
}

export interface Known {
  readonly statistics: QueueStatistics
  /** Default: nothing was watched. */
  readonly strain?: Strain
  readonly room: Room | undefined
  readonly facts: RelayFacts
  readonly warnings: readonly Warned[]
  readonly wallMs: number
}

const day = 86_400_000
/** How long before its end a certificate should have been renewed. */
export const expirySoonMs: number = 14 * day
const warnedMs = 3_600_000
const deadShownMax = 10
/** Twice what a queue wants free. */
const lowBytes = 512 * 1024 * 1024

const directoryPage = 'src/directory/README.md'
const servePage = 'src/relay/SERVE.md'
const operatingPage = 'tools/commands/OPERATING.md'

type Told = Partial<Problem> & { readonly code: ProblemCause; readonly text: string }

const problem = (told: Told): Problem => ({
  subject: {},
  help: null,
  severity: problemCatalogue[told.code].severity,
  ...told,
})

/** The worst first. */
export function problemsOf(known: Known): Problem[] {
  const all = [
    ...ofQueue(known),
    ...ofRoom(known),
    ...ofDestinations(known),
    ...ofStrain(known),
    ...ofRelay(known),
  ]
  const order = ['critical', 'warning', 'notice']
  return all.sort((a, b) => order.indexOf(a.severity) - order.indexOf(b.severity))
}

function* ofQueue({ statistics, strain = noStrain }: Known): Generator<Problem> {
  const { recovering, damagedCount, lanes, deliveries, journal } = statistics
  if (recovering)
    yield problem({
      code: 'RECOVERING',
      text: 'A recovery reads what was being worked on: mail is accepted, and nothing is attempted yet.',
    })
  for (const { lane, damage } of lanes)
    if (damage !== undefined)
      yield problem({
        code: 'LANE_DAMAGED',
        text: `Lane ${lane} stands still: ${damage}.`,
        subject: { lane },
        help: `${directoryPage}#damage`,
      })
  if (damagedCount > 0)
    yield problem({
      code: 'MESSAGES_DAMAGED',
      text: `${countText(damagedCount, 'message')} that the recovery could not read: no verb reaches them.`,
      help: `${directoryPage}#damage`,
    })
  if (deliveries.isHeld)
    yield problem({
      code: 'DELIVERIES_HELD',
      text: `The disk has not answered a synced write for ${seconds(journal.syncUnderWayMs)}: no delivery begins.`,
      help: `${directoryPage}#a-disk-that-hangs`,
    })
  else if (journal.syncUnderWayMs > 1000)
    yield problem({
      code: 'DISK_HANGS',
      text: `A synced write has been under way for ${seconds(journal.syncUnderWayMs)}.`,
      help: `${directoryPage}#a-disk-that-hangs`,
    })
  if (strain.syncMs !== undefined)
    yield problem({
      code: 'DISK_SLOW',
      text: `The disk is slow: a synced write takes ${seconds(strain.syncMs)}, and new mail waits for one.`,
      help: `${directoryPage}#a-slow-disk`,
    })
}

function* ofRoom({ statistics, room }: Known): Generator<Problem> {
  if (room?.isShort === true || statistics.journal.diskFull)
    yield problem({
      code: 'DISK_FULL',
      text:
        room?.shortOf === 'files'
          ? 'The disk has too few free inodes: no new mail is accepted.'
          : 'The disk is too full: no new mail is accepted.',
      help: `${directoryPage}#a-full-disk`,
    })
  else if (room !== undefined && room.freeBytes < lowBytes)
    yield problem({
      code: 'DISK_LOW',
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
        text: `${name} (${transport}) is dead: ${state.reason.text}`,
        subject: { transport, name },
        help: `${operatingPage}#dead-destinations`,
      })
  const ordered = statistics.destinations.filter(isOrdered)
  if (ordered.length > 0)
    yield problem({
      code: 'DESTINATIONS_SUSPENDED',
      text: `An operator has suspended ${suspendedNames(ordered)}: mail for it waits.`,
      help: `${operatingPage}#suspending-destinations`,
    })
  if (dead.length > deadShownMax)
    yield problem({
      code: 'DESTINATION_DEAD',
      text: `${countText(dead.length - deadShownMax, 'more destination')} are dead.`,
      help: `${operatingPage}#dead-destinations`,
    })
}

function* ofStrain({ statistics, strain = noStrain }: Known): Generator<Problem> {
  for (const { transport, name, busy, todo, silentMs } of strain.silent.slice(0, deadShownMax))
    yield problem({
      code: 'DESTINATION_SILENT',
      text:
        `${name} (${transport}) has not answered for ${Math.floor(silentMs / 60_000)} min: ` +
        `${countText(busy, 'delivery', 'deliveries')} under way, and ${digitsText(todo)} wait.`,
      subject: { transport, name },
      help: `${operatingPage}#suspending-destinations`,
    })
  const { activeCount, activeCountMax, destinations } = statistics
  if (strain.isActiveFull) {
    const largest = largestOf(destinations)
    const isBusy = largest !== undefined && largest.busy + largest.todo > 0
    const whose = isBusy ? `; most of them are for ${largest.name} (${largest.transport})` : ''
    yield problem({
      code: 'ACTIVE_FULL',
      text: `${digitsText(activeCount)} of ${digitsText(activeCountMax)} messages are active${whose}: other mail waits.`,
      subject: isBusy ? { transport: largest.transport, name: largest.name } : {},
      help: `${servePage}#transports-and-their-parameters`,
    })
  }
  for (const { transport, busy, delayedCount } of strain.transports)
    yield problem({
      code: 'PROCESS_LIMIT',
      text: `All ${digitsText(busy)} processes of ${transport} are busy: ${digitsText(delayedCount)} deliveries wait for one.`,
      help: `${servePage}#transports-and-their-parameters`,
    })
}

function* ofRelay({ facts, warnings, wallMs }: Known): Generator<Problem> {
  const { certificateExpiresAt, isReloadRefused = false, isFrozen = false } = facts
  const { webhookTrouble, webhookWaitingCount = 0 } = facts
  if (isFrozen)
    yield problem({
      code: 'NOTHING_DELIVERED',
      text: 'The relay was started with --freeze: mail is taken, and nothing is delivered.',
      help: `${servePage}#starting-and-stopping`,
    })
  if (webhookTrouble !== undefined)
    yield problem({
      code: 'WEBHOOK_UNANSWERED',
      text: `The webhook is not answered, and outcomes wait (${digitsText(webhookWaitingCount)}): ${sentence(webhookTrouble)}`,
      help: `${servePage}#webhooks`,
    })
  if (certificateExpiresAt !== undefined && certificateExpiresAt <= wallMs)
    yield problem({
      code: 'CERTIFICATE_EXPIRED',
      text: `The certificate has expired on ${dateOf(certificateExpiresAt)}.`,
      help: `${servePage}#ports-and-tls`,
    })
  else if (certificateExpiresAt !== undefined && certificateExpiresAt - wallMs < expirySoonMs)
    yield problem({
      code: 'CERTIFICATE_EXPIRES',
      text: `The certificate expires on ${dateOf(certificateExpiresAt)}.`,
      help: `${servePage}#ports-and-tls`,
    })
  if (isReloadRefused)
    yield problem({
      code: 'RELOAD_REFUSED',
      text: 'The last reload was refused, and the files of before are used: the log says why.',
      help: `${servePage}#changed-files`,
    })
  for (const { code, message, at } of warnings)
    if (code === 'FILE_SYSTEM')
      yield problem({
        code: 'STORE_UNSAFE',
        text: sentence(message),
        help: directoryPage,
      })
    else if (wallMs - at < warnedMs)
      yield problem({ code: 'WARNINGS', text: `${code}: ${sentence(message)}` })
}

const seconds = (ms: number): string => `${Math.round(ms / 100) / 10} s`
const dateOf = (ms: number): string => new Date(ms).toISOString().slice(0, 10)
const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`)
