/** `waybill restore`: a queue out of a backup.
 * Invariant: it says what the queue will send before it makes the queue, and makes none of a backup
 * in which something is damaged. */
import { countText, nounText } from '../../../src/base/text.js'
import { openBackup, previewOf, restoreInto, type Backup, type Preview } from '../../../src/backup/restore.js'
import { restoreInStore } from '../../../src/backup/restore-in-store.js'
import { checkPlace } from '../../../src/backup/final-name.js'
import { isWaybillError, type WaybillError } from '../../../src/errors.js'
import type { Finding } from '../../../src/inspect/damage/finding.js'
import { addressesIn } from '../../../src/inspect/messages/waiting-recipients.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { hasPassword, shownQueue } from '../cli/shown-queue.js'
import { lineOf, UsageError, type Arguments, type Command } from '../cli/command.js'
import { actAsOwner } from '../cli/queue-owner.js'
import { exits, jsonOption, sentenceOf } from '../look/inspection.js'
import { fullTime, printable, senderText } from '../text/shown-text.js'
import { Output, OutputClosed, processSurroundings, type Surroundings } from '../text/output.js'
import { Progress } from '../text/progress.js'

export interface RestoreCommand extends Command {
  runIn(args: Arguments, surroundings: Surroundings): Promise<number>
}

export const restore: RestoreCommand = {
  synopsis: '[--json] [--dry-run] --from DIR | --from FILE.tar --to DIR | --to URL',
  options: {
    ...jsonOption,
    from: { value: 'PLACE', help: 'what `waybill backup` has made' },
    to: {
      value: 'PLACE',
      help: 'the new queue: a directory that is not there yet, or the URL of one in a store',
    },
    'dry-run': { help: 'only say what it would send' },
  },
  notes:
    'All mail of the backup is sent, also what was delivered after the backup was made. What was on hold stays there. To look\n' +
    'at everything first: `waybill hold --all --queue DIR`, before a relay is started on it. Never start the old queue again\n' +
    'beside it. The queue belongs to the owner of the directory that it is made in. That user must be able to read the backup.\n' +
    'In a store it is a queue that `waybill store init` has made, and that was never used.\n' +
    'Exit codes: 0 fine, 1 something is wrong with the backup or the disk, 2 usage.',
  run: (args) => runIn(args, processSurroundings()),
  runIn,
}

/** Messages of which it says whose they are. */
const sampleMax = 10

interface Wanted {
  readonly from: string
  readonly to: string | undefined
}

function wantedOf(args: Arguments): Wanted {
  const from = args.one('from')
  const to = args.one('to')
  if (from === undefined || from === '') throw new UsageError('--from says where the backup is')
  if (to === '' || (to === undefined && !args.isSet('dry-run')))
    throw new UsageError('--to says where the new queue goes')
  if (to !== undefined && hasPassword(to))
    throw new UsageError('--to takes no password: others read command lines; use PGPASSFILE')
  return { from, to }
}

async function runIn(args: Arguments, surroundings: Surroundings): Promise<number> {
  const wanted = wantedOf(args)
  const out = new Output(surroundings)
  try {
    const exitCode = await previewing(wanted, args, out, surroundings)
    await out.flush()
    return exitCode
  } catch (error) {
    if (error instanceof OutputClosed) return exits.wrong
    if (!isWaybillError(error)) throw error
    if (error.code === 'OPTION_INVALID' || isMissing(error, wanted)) throw new UsageError(error.message)
    await out.flush().catch(() => undefined)
    surroundings.complain(`waybill restore: ${lineOf(error)}\n`)
    return exits.wrong
  }
}

/** There is no such backup. */
const isMissing = ({ code, place }: WaybillError, { from }: Wanted): boolean =>
  code === 'DISK_FAILED' && place.errno === 'ENOENT' && place.path === from

async function previewing(
  { from, to }: Wanted,
  args: Arguments,
  out: Output,
  surroundings: Surroundings,
): Promise<number> {
  const isMade = to !== undefined && !args.isSet('dry-run')
  if (to !== undefined) await actAsOwner(to)
  if (isMade && !isStoreUrl(to)) await checkPlace(to, undefined)
  const findings: Finding[] = []
  const report = (finding: Finding): unknown => findings.push(finding)
  const backup = await openBackup(from, report)
  const progress = new Progress(surroundings)
  const onProgress = (done: number, all: number): void => progress.show(done, all)
  try {
    const preview = await previewOf(backup, sampleMax, report, onProgress)
    progress.end()
    if (args.isSet('json')) out.json(previewJson(backup, preview))
    else for (const line of previewLines(backup, preview)) out.line(line)
    await out.flush()
    for (const finding of findings) surroundings.complain(`damage: ${sentenceOf(finding)}\n`)
    if (findings.length > 0) {
      surroundings.complain(
        `waybill restore: the backup is damaged, and no queue is made of it; \`waybill log rescue\` copies what is whole\n`,
      )
      return exits.wrong
    }
    if (!isMade) return exits.fine
    await restoring(backup, to, surroundings, onProgress)
    progress.end()
    if (args.isSet('json')) out.json({ restored: shownQueue(to) })
    else out.line(`the queue is in ${shownQueue(to)}`)
    return exits.fine
  } finally {
    progress.end()
    backup.disk.abandon()
  }
}

async function restoring(
  backup: Backup,
  to: string,
  surroundings: Surroundings,
  onProgress: (done: number, all: number) => void,
): Promise<void> {
  const options = { signal: surroundings.stopped, onProgress }
  if (!isStoreUrl(to)) return restoreInto(backup, to, options)
  const queue = surroundings.openDisk(to)
  try {
    await restoreInStore(backup, queue, options)
  } finally {
    queue.abandon()
  }
}

const sentOf = ({ counts: { incoming, active, deferred } }: Preview): number => incoming + active + deferred

function previewLines({ manifest }: Backup, preview: Preview): string[] {
  const { counts, recipientCount, droppedCount, sample } = preview
  const sent = sentOf(preview)
  const parts = [
    [counts.incoming, 'to be attempted at once'],
    [counts.active, 'under way then, and maybe delivered already'],
    [counts.deferred, 'deferred'],
  ] as const
  const lines = [
    `The backup is of ${fullTime(manifest.atMs)}. What was delivered since then is sent again.`,
    `${countText(sent, 'message')} to ${countText(recipientCount, 'recipient')} will be sent${sent > 0 ? ':' : ''}`,
    ...parts.flatMap(([count, what]) => (count > 0 ? [`  ${count} ${what}`] : [])),
  ]
  if (droppedCount > 0)
    lines.push(
      `${countText(droppedCount, 'message')} of sendmail ${nounText(droppedCount, 'is', 'are')} sent, too`,
    )
  if (counts.hold > 0) lines.push(`${countText(counts.hold, 'message')} on hold: not sent until released`)
  if (sample.length > 0) lines.push('The first that are sent:')
  for (const { envelope, waitingCount, waiting } of sample) {
    const [first = '?'] = addressesIn({ envelope, waiting }) ?? []
    const more = waitingCount > 1 ? ` and ${waitingCount - 1} more` : ''
    lines.push(
      `  ${envelope.id}  ${fullTime(envelope.acceptedAt)}  ${senderText(envelope.sender)} → ${printable(first)}${more}`,
    )
  }
  if (sent > sample.length) lines.push(`  … and ${sent - sample.length} more`)
  if (manifest.outcome !== undefined)
    lines.push(`Outcomes for consumers go on behind number ${manifest.outcome}.`)
  return lines
}

const previewJson = ({ manifest }: Backup, preview: Preview): Record<string, unknown> => ({
  at: new Date(manifest.atMs).toISOString(),
  messages: sentOf(preview),
  recipients: preview.recipientCount,
  ...preview.counts,
  sendmail: preview.droppedCount,
  outcome: manifest.outcome,
  sample: preview.sample.map(({ envelope, waitingCount, where }) => ({
    id: envelope.id,
    sender: envelope.sender,
    queue_name: where,
    recipient_count: waitingCount,
    arrival_time: Math.floor(envelope.acceptedAt / 1000),
  })),
})
