/** The queue at one moment: its active messages, and the waiting range of each lane.
 * Invariant: beside a running relay, damage counts only if a second look sees it, too: a batch may
 * be half written, a segment recycled. Nothing behind the newest checkpoint is removed while a
 * snapshot needs it. */
import { nowhere, position, type Position } from '../../base/position.js'
import { holdLane, incomingLane, type LaneKind } from '../../lane/lane.js'
import { trustedEndIn, type Checkpoint } from '../../record/checkpoint.js'
import { lanesDirectory, spoolDirectory } from '../../directory/paths.js'
import { readMarks } from '../../recovery/read-suffix.js'
import type { WorkingMessage, WorkingSet } from '../../recovery/working-set.js'
import { findingOf, isDamage, isSame, type Finding } from '../damage/finding.js'
import { fold } from './fold.js'
import { missingSegments, viewJournal, type JournalView } from './journal-view.js'
import { lanesOnDisk } from './lanes-on-disk.js'
import type { LogName, QueueDirectory } from './queue-directory.js'
import { readLimits } from '../../log/write-limit.js'

export interface LaneView {
  readonly lane: number
  readonly kind: LaneKind
  /** Milliseconds; 0 for incoming, Infinity for hold. */
  readonly intervalMs: number
  readonly inJournal: boolean
  /** Known from files only, without a checkpoint: its messages may have been started, or
   * delivered. */
  readonly isGuessed: boolean
  /** The log of its envelopes. */
  readonly log: LogName
  /** Waiting messages stand from here …… */
  readonly runner: Position
  /** … to here. */
  readonly end: Position
  /** Of its log of data; both `nowhere` for a lane in the journal. */
  readonly dataFloor: Position
  readonly dataEnd: Position
  /** Envelopes behind the runner that were started out of order. */
  readonly marks: ReadonlySet<Position>
  /** The runner of the checkpoint: from here on starts are in the suffix. */
  readonly checkpointRunner: Position
  readonly marksRecord: Position
}

export interface Snapshot {
  readonly journal: JournalView
  /** The position of the state: the journal's end, or the requested one. */
  readonly end: Position
  /** That it is built on; undefined before a queue's first one. */
  readonly checkpoint: Checkpoint | undefined
  /** Start of the working suffix. */
  readonly suffix: Position
  readonly lanes: readonly LaneView[]
  /** In the order of their starts. */
  readonly working: readonly WorkingMessage[]
  readonly spoolsNamed: ReadonlySet<number>
  /** The suffix is damaged: passed envelopes may never have been started. */
  readonly isDamaged: boolean
  readonly findings: readonly Finding[]
}

/** Looks until two in a row see the same trouble, or none. */
const looksMax = 20

export async function takeSnapshot(directory: QueueDirectory): Promise<Snapshot> {
  let before: Snapshot | undefined
  for (let look = 1; ; look++) {
    const now = await tryOnce(directory)
    const again = now?.findings.filter((finding) => before?.findings.some((other) => isSame(finding, other)))
    if (
      now !== undefined &&
      (now.findings.length === 0 || again!.length === now.findings.length || look >= looksMax)
    )
      return look >= looksMax ? { ...now, findings: again! } : now
    before = now
  }
}

/** @returns undefined if the journal changed during the look */
async function tryOnce(directory: QueueDirectory): Promise<Snapshot | undefined> {
  const names = await directory.disk.list('journal')
  // Before the segments: what is written meanwhile lies behind it.
  const limitOf = await readLimits(directory.disk, 'journal')
  const journal = await viewJournal(directory.log('journal'), directory.journalOfStart(), names, limitOf)
  const { checkpoint, end } = journal
  const snapshot = await snapshotOf(directory, journal, checkpoint, end, true)
  const findings = [...journal.findings, ...missingSegments(journal, floorOf(snapshot)), ...snapshot.findings]
  if (journal.newest < 0) findings.push(...(await lostJournal(directory, names)))
  for (const index of journal.indexes) await journal.files.forget(index)
  return { ...snapshot, findings }
}

/** @param end the state is folded up to here
 * @param isNow lanes without a checkpoint are read from the present files, which say nothing of an
 * earlier moment */
export async function snapshotOf(
  directory: QueueDirectory,
  journal: JournalView,
  checkpoint: Checkpoint | undefined,
  end: Position,
  isNow: boolean,
): Promise<Snapshot> {
  const findings: Finding[] = []
  const report = (finding: Finding): unknown => findings.push(finding)
  const oldest = journal.files.grid.firstOf(journal.indexes[0] ?? 0)
  const suffix = checkpoint?.suffix ?? oldest
  const trustedEnd = (lane: number): Position | undefined => checkpoint && trustedEndIn(checkpoint, lane)
  const started = new Map<number, Set<Position>>()
  const { working, spoolsNamed, isDamaged } = await fold(
    { ...journal, end },
    { suffix, trustedEnd },
    report,
    checkpoint === undefined
      ? {
          start: (lane, { envelope }) =>
            void started.set(lane, (started.get(lane) ?? new Set()).add(envelope)),
        }
      : undefined,
  )
  const lanes: LaneView[] = []
  for (const positions of checkpoint?.lanes ?? [])
    lanes.push(await laneView(directory, positions, working, end, report))
  if (lanes.length === 0) {
    lanes.push(newbornIncoming(suffix, working, end))
    if (isNow) lanes.push(...(await lanesOnDisk(directory, started)))
  }
  return {
    journal,
    end,
    checkpoint,
    suffix,
    lanes,
    working: [...working.messages],
    spoolsNamed,
    isDamaged,
    findings,
  }
}

async function laneView(
  directory: QueueDirectory,
  positions: Checkpoint['lanes'][number],
  working: WorkingSet,
  end: Position,
  report: (finding: Finding) => unknown,
): Promise<LaneView> {
  const { lane, intervalMs, inJournal, marks: last } = positions
  const log: LogName = inJournal ? 'journal' : `${lane}/envelopes`
  const trace = working.lanes.get(lane)
  const runner = position(Math.max(positions.runner, trace?.runner ?? 0))
  const marks = new Set(trace?.marks.filter((marked) => marked >= runner))
  const files = directory.log(log)
  try {
    if (last !== nowhere) for (const marked of await readMarks(files, last, runner)) marks.add(marked)
  } catch (error) {
    if (!isDamage(error)) throw error
    report(findingOf(error, files.placeOf(last), 'marks: mail that was started may be listed as waiting'))
  }
  return {
    lane,
    kind: lane === incomingLane ? 'incoming' : lane === holdLane ? 'hold' : 'retry',
    intervalMs: lane === holdLane ? Infinity : intervalMs,
    inJournal,
    isGuessed: false,
    log,
    runner,
    end: inJournal ? end : positions.envelopesEnd,
    dataFloor: inJournal ? nowhere : positions.dataFloor,
    dataEnd: inJournal ? nowhere : positions.dataEnd,
    marks,
    checkpointRunner: positions.runner,
    marksRecord: last,
  }
}

/** Before the first checkpoint, or without any, there is the incoming lane. */
function newbornIncoming(suffix: Position, working: WorkingSet, end: Position): LaneView {
  return {
    lane: incomingLane,
    kind: 'incoming',
    intervalMs: 0,
    inJournal: true,
    isGuessed: false,
    log: 'journal',
    runner: position(Math.max(suffix, working.lanes.get(incomingLane)?.runner ?? 0)),
    end,
    dataFloor: nowhere,
    dataEnd: nowhere,
    marks: new Set(),
    checkpointRunner: suffix,
    marksRecord: nowhere,
  }
}

/** No reader needs the journal before this. */
export function floorOf({ suffix, lanes }: Pick<Snapshot, 'suffix' | 'lanes'>): Position {
  let floor: number = suffix
  for (const lane of lanes) if (lane.inJournal) floor = Math.min(floor, lane.checkpointRunner)
  return position(floor)
}

/** A journal without a batch belongs to an unused queue, unless other files show use. */
async function lostJournal(directory: QueueDirectory, names: readonly string[]): Promise<Finding[]> {
  const lanes = (await directory.logs()).filter(({ name }) => name !== 'journal')
  const hasSegment = names.some((name) => name.endsWith('.log'))
  const places = [
    spoolDirectory,
    ...(hasSegment ? [] : [lanesDirectory]),
    ...lanes.map((log) => log.directory),
  ]
  for (const place of places) {
    const [first] = await directory.disk.list(place)
    if (first === undefined) continue
    const reason = `the journal is missing, but the queue was used: there is ${place}/${first}`
    return [
      {
        log: 'journal',
        bytes: 0,
        reason,
        lost: 'the state of the queue: waiting and delivered mail',
      },
    ]
  }
  return []
}
