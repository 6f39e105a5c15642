/** `waybill backup`: a copy of a queue at one moment, while its relay runs or under the lock.
 * Invariant: this process copies, so the relay does nothing but keep its files. */
import { systemClock } from '../../../src/base/clock.js'
import { countText } from '../../../src/base/text.js'
import { backUp, type BackupReport, type KeptFiles } from '../../../src/backup/back-up.js'
import { endOfJournal } from '../../../src/backup/plan.js'
import { ControlClient } from '../../../src/control/client.js'
import { queueLockName, readQueueHeader } from '../../../src/directory/header.js'
import { WaybillError } from '../../../src/errors.js'
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { asUsage, UsageError, type Arguments } from '../cli/command.js'
import { shownQueue } from '../cli/shown-queue.js'
import { actAsOwner } from '../cli/queue-owner.js'
import { exits, jsonOption } from '../look/inspection.js'
import { bytesText, fullTime } from '../text/shown-text.js'
import { Progress } from '../text/progress.js'
import { operatingCommand, type Operating, type OperatingCommand } from './operating-command.js'
import { whenFree } from './operator.js'

export const backup: OperatingCommand = operatingCommand(
  'backup',
  {
    synopsis: '[--queue DIR] [--json] --to DIR | --to FILE.tar',
    options: {
      ...jsonOption,
      to: { value: 'PLACE', help: 'a new directory, or a new file whose name ends in .tar' },
    },
    notes:
      'The copy has all mail that was settled before and has not ended, with the data of large messages, idempotency keys and\n' +
      'outcomes for consumers. The relay goes on meanwhile, and keeps files that it would release; when its disk gets short of\n' +
      'room the backup ends instead. Nothing is overwritten, and a backup that fails leaves nothing. It is made as the\n' +
      "queue's owner, and that user must be able to write there. `waybill restore` makes a queue of it.",
  },
  check,
  operate,
)

function check(args: Arguments): string {
  const to = args.one('to')
  if (to === undefined || to === '') throw new UsageError('--to says where the backup goes')
  return to
}

async function operate(operating: Operating, to: string): Promise<number> {
  const { path, args, out, surroundings } = operating
  await actAsOwner(path)
  const disk = surroundings.openDisk(path)
  const progress = new Progress(surroundings)
  const stop = surroundings.stopped
  let report: BackupReport
  try {
    report = await backUp(
      {
        disk,
        directory: isStoreUrl(path) ? undefined : path,
        clock: systemClock,
        keep: () => kept(operating, disk),
      },
      { to, signal: stop, onProgress: (done, all) => progress.show(done, all) },
    )
  } catch (error) {
    throw asUsage(error)
  } finally {
    progress.end()
    disk.abandon()
  }
  const { atMs, fileCount, bytes } = report
  if (args.isSet('json')) out.json({ to, at: new Date(atMs).toISOString(), files: fileCount, bytes })
  else
    out.line(
      `${shownQueue(path)} as it was at ${fullTime(atMs)} is in ${to}: ${countText(fileCount, 'file')}, ${bytesText(bytes)}`,
    )
  return exits.fine
}

/** By the relay that has the queue open; without one nobody changes them under the lock. */
const kept = (
  { path, surroundings }: Operating,
  disk: ReturnType<Operating['surroundings']['openDisk']>,
): Promise<KeptFiles> =>
  whenFree(surroundings, async () => {
    const relay = await ControlClient.connect(path)
    if (relay !== undefined) return relay.pin()
    await disk.lock(queueLockName)
    const header = await readQueueHeader(disk)
    if (header === undefined) throw new WaybillError('NOT_A_QUEUE', 'there is no queue in the directory')
    const journalEnd = await endOfJournal(disk, header)
    const lost = new AbortController().signal
    return { journalEnd, lost, confirm: () => Promise.resolve(), release: () => undefined }
  })
