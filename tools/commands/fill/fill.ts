/** `waybill fill`: makes a new queue full of generated mail, for benches and demonstrations.
 * Invariant: the queue has the bytes of a life whose messages were all deferred. Lanes are written
 * and synced first, then the journal's first batch with the checkpoint that makes them trusted. An
 * interrupted fill is no queue. */
import { systemClock } from '../../../src/base/clock.js'
import { crc32 } from '../../../src/base/checksum.js'
import { MessageIds } from '../../../src/base/message-id.js'
import { nowhere, position } from '../../../src/base/position.js'
import { untouched } from '../../../src/record/envelope.js'
import { seededPrng, type Prng } from '../../../src/base/prng.js'
import type { Disk } from '../../../src/disk/disk.js'
import { Completion } from '../../../src/directory/incomplete.js'
import { arrangeLaneDirectories } from '../../../src/directory/lane-directories.js'
import { makeQueue } from '../../../src/directory/make-queue.js'
import { planLanes, nearestInterval } from '../../../src/lane/lane-plan.js'
import { holdLane } from '../../../src/lane/lane.js'
import { journalDirectory } from '../../../src/log/journal.js'
import { journalLog, JournalWriter } from '../../../src/log/journal-writer.js'
import { SegmentPool } from '../../../src/log/segment-pool.js'
import { SegmentGrid } from '../../../src/log/segment.js'
import { postfixRetry } from '../../../src/policy/postfix-retry.js'
import { openQueue } from '../../../src/queue.js'
import { encodeCheckpoint, type LanePositions } from '../../../src/record/checkpoint.js'
import { lineOf, UsageError, type Arguments, type Command } from '../cli/command.js'
import { BulkLane } from './bulk-lane.js'
import { print, processSurroundings, type Surroundings } from '../text/output.js'
import { Progress } from '../text/progress.js'
import { playDay } from './live.js'
import { liveConsole } from './live-console.js'
import { SyntheticMails, type SyntheticMail } from './synthetic-mail.js'
import { parseBytes, parseCount, parseDurationOption } from '../cli/values.js'

export const fill: Command & { runIn(args: Arguments, surroundings: Surroundings): Promise<number> } = {
  synopsis:
    '--queue DIR [--count N] [--hold N] [--incoming N] [OPTION …]\n--queue DIR --live [--for TIME] [--console HOST:PORT]',
  options: {
    queue: { value: 'DIR', help: 'the new queue; empty, or not there yet' },
    count: {
      value: 'N',
      help: "deferred messages, in the lanes that Postfix's retry rule gives their ages (1000)",
    },
    hold: { value: 'N', help: 'messages on hold (0)' },
    incoming: { value: 'N', help: 'messages that were never tried (0)' },
    size: { value: 'BYTES', help: 'of a message (1K)' },
    recipients: { value: 'MEAN', help: 'of a message, on average (1)' },
    domains: { value: 'N', help: 'to which it goes (1000)' },
    senders: { value: 'N', help: 'domains from which it comes (100)' },
    age: { value: 'TIME', help: 'of the oldest (3d)' },
    seed: { value: 'N', help: 'the same seed makes the same mail (1)' },
    live: {
      help: 'instead, a busy day of mail through a queue at work, played in minutes; the sites are made up, no mail leaves',
    },
    for: { value: 'TIME', help: 'with --live: how long the day takes (5m)' },
    peak: { value: 'N', help: 'with --live: messages a second at its busiest hour (40)' },
    console: { value: 'HOST:PORT', help: 'with --live: show the console there, on this machine (nowhere)' },
    'segment-size': { value: 'BYTES', help: 'of the journal (64M)' },
    'lane-segment-size': { value: 'BYTES', help: 'of the lanes (16M)' },
  },
  notes:
    'Without --live the directory must be empty or not there yet. Exit codes: 0 made, 1 failed, 2 usage.',
  run: (args) => run(args, processSurroundings()),
  runIn: run,
}

interface Plan {
  readonly count: number
  readonly hold: number
  readonly incoming: number
  readonly mails: SyntheticMails
  readonly prng: Prng
  readonly segmentBytes: number
  readonly laneSegmentBytes: number
}

async function run(args: Arguments, surroundings: Surroundings): Promise<number> {
  const path = args.one('queue')
  if (path === undefined) throw new UsageError('--queue DIR is required: the new queue')
  if (args.isSet('live')) return live(args, path, surroundings)
  for (const option of ['for', 'peak', 'console'])
    if (args.isSet(option)) throw new UsageError(`--${option} is for --live`)
  const plan = planOf(args)
  const disk = surroundings.openDisk(path)
  const nowMs = surroundings.nowMs()
  const progress = new Progress(surroundings)
  try {
    await disk.makeDirectory('')
    const there = (await disk.list('')).filter((name) => name !== 'lock')
    if (there.length > 0) throw new UsageError(`${path} is not empty: it holds ${there[0] ?? ''}`)
    await disk.lock('lock')
    await fillQueue(disk, plan, nowMs, (done) => progress.show(done, plan.count + plan.hold))
  } finally {
    disk.abandon()
    progress.end()
  }
  if (plan.incoming > 0) await submitIncoming(surroundings.openDisk(path), path, plan, nowMs)
  return print(
    `${plan.count} deferred, ${plan.hold} on hold, ${plan.incoming} incoming in ${path}\n`,
    surroundings,
  )
}

/** A day may go on in a queue that an earlier one has left. */
async function live(args: Arguments, path: string, surroundings: Surroundings): Promise<number> {
  for (const option of ['count', 'hold', 'incoming', 'recipients', 'domains', 'senders', 'age', 'size'])
    if (args.isSet(option)) throw new UsageError(`--${option} is not for --live`)
  const dayMs = parseDurationOption('for', args.one('for') ?? '5m')
  if (dayMs < dayMsMin || dayMs > dayMsMax) throw new UsageError('--for is from 1s to 1d')
  const peak = parseCount('peak', args.one('peak') ?? '40', 1)
  if (peak > peakMax) throw new UsageError(`--peak is at most ${peakMax}`)
  const show = await liveConsole(args, path)
  const seed = parseCount('seed', args.one('seed') ?? '1', 0)
  await playDay(path, { dayMs, peak, seed, show }, surroundings)
  return 0
}

const dayMsMin = 1000
const dayMsMax = 86_400_000
const peakMax = 5000

function planOf(args: Arguments): Plan {
  const count = (option: string, usual: string, least: number): number =>
    parseCount(option, args.one(option) ?? usual, least)
  const prng = seededPrng(count('seed', '1', 0))
  const recipientsText = args.one('recipients') ?? '1'
  const recipientsMean = Number(recipientsText)
  if (!/^\d{1,3}(\.\d{1,3})?$/.test(recipientsText) || recipientsMean < 1)
    throw new UsageError(`--recipients takes a number from 1 to 999, not '${recipientsText}'`)
  const dataBytes = parseBytes('size', args.one('size') ?? '1K')
  if (dataBytes > 1024 * 1024) throw new UsageError('--size is at most 1M')
  const mix = {
    seedPrng: prng,
    domainCount: count('domains', '1000', 1),
    senderCount: count('senders', '100', 1),
    recipientsMean,
    dataBytes,
    oldestMs: parseDurationOption('age', args.one('age') ?? '3d'),
  }
  return {
    count: count('count', '1000', 0),
    hold: count('hold', '0', 0),
    incoming: count('incoming', '0', 0),
    mails: new SyntheticMails(mix),
    prng,
    segmentBytes: parseBytes('segment-size', args.one('segment-size') ?? '64M'),
    laneSegmentBytes: parseBytes('lane-segment-size', args.one('lane-segment-size') ?? '16M'),
  }
}

async function fillQueue(
  disk: Disk,
  plan: Plan,
  nowMs: number,
  onProgress: (done: number) => void,
): Promise<void> {
  const { prng, mails, segmentBytes, laneSegmentBytes } = plan
  await makeQueue(disk, segmentBytes, laneSegmentBytes)
  const grid = new SegmentGrid(segmentBytes)
  const { intervalsMs } = postfixRetry()
  const { lanes, laneNext } = planLanes([], 0, intervalsMs, 'lanes', {
    journalEnd: grid.firstOf(0),
    laneSegmentBytes,
    present: new Set(),
  })
  const named = lanes.filter(({ inJournal }) => !inJournal)
  await arrangeLaneDirectories(
    disk,
    [],
    named.map(({ lane }) => lane),
    { names: [], spared: [] },
    new Completion(disk, false),
  )
  const bulk = new Map(named.map(({ lane }) => [lane, new BulkLane({ disk, prng, lane, laneSegmentBytes })]))
  const ids = new MessageIds(prng)
  const append = async (lane: number, mail: SyntheticMail, timeMs: number): Promise<void> => {
    const acceptedAt = timeMs - mail.ageMs
    const id = ids.next(acceptedAt)
    const data = mails.data(mail, id)
    const ranges = [0, mail.recipients.length - 1]
    const facts = {
      id,
      sender: mail.sender,
      acceptedAt,
      smtputf8: false,
      dataBytes: data.length,
      checksum: crc32(data),
      ...untouched,
      attempts: mail.attempts,
      notes: [{ kind: 'deferred' as const, ...mail.reason, ranges }],
    }
    await bulk.get(lane)!.append(facts, mail.recipients, data, timeMs)
  }
  for (let i = 0; i < plan.count; i++) {
    const mail = mails.next()
    const intervalMs = nearestInterval(intervalsMs, mail.ageMs)
    const lane = lanes.find(
      (positions) => positions.lane > holdLane && positions.intervalMs === intervalMs,
    )!.lane
    // Append order is due order: the first is due now, the last an interval later.
    await append(lane, mail, Math.floor(nowMs - intervalMs * (1 - i / plan.count)))
    if (i % 1000 === 0) onProgress(i)
  }
  for (let i = 0; i < plan.hold; i++) {
    await append(holdLane, mails.next(), nowMs)
    if (i % 1000 === 0) onProgress(plan.count + i)
  }
  const positions: LanePositions[] = []
  for (const lane of lanes) positions.push((await bulk.get(lane.lane)?.finish(lane, nowMs)) ?? lane)
  await disk.syncDirectory('')
  await beginJournal(disk, plan, grid, positions, laneNext, nowMs)
}

/** The journal's first segment, with a checkpoint that makes the lanes trusted. */
async function beginJournal(
  disk: Disk,
  { prng, segmentBytes }: Plan,
  grid: SegmentGrid,
  lanes: readonly LanePositions[],
  laneNext: number,
  nowMs: number,
): Promise<void> {
  const life = 1
  const pool = new SegmentPool({
    disk,
    directory: journalDirectory,
    log: journalLog,
    segmentBytes,
    life,
    spareCountMax: 2,
    onChange: () => undefined,
  })
  await pool.ensureOne()
  const begun = new Promise<void>((resolve, reject) => {
    const writer = new JournalWriter({
      clock: { ...systemClock, wallMs: () => nowMs },
      prng,
      grid,
      pool,
      batchBytes: segmentBytes / 4,
      index: 0,
      previousEnd: nowhere,
      onDurable: (end) => end > position(0) && resolve(),
      onPrepared: () => undefined,
      onSegment: () => undefined,
      onFailure: reject,
    })
    const checkpoint = { life, suffix: grid.firstOf(0), lanes, laneNext, spoolHighest: 0, spoolPending: [] }
    writer.prepared.then(() => writer.begin(encodeCheckpoint(checkpoint)), reject)
  })
  await begun
}

/** By ordinary submissions, at their cost. */
async function submitIncoming(
  disk: Disk,
  path: string,
  { incoming, mails, prng }: Plan,
  nowMs: number,
): Promise<void> {
  const queue = await openQueue(path, {
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    deliver: false,
    disk,
    prng,
    clock: { ...systemClock, wallMs: () => nowMs },
  })
  try {
    const submittersMax = 1000
    let submitted = 0
    const submit = async (): Promise<void> => {
      while (submitted < incoming) {
        const mail = mails.next()
        const data = mails.data(mail, `incoming${submitted++}`)
        await queue.submit({ sender: mail.sender, recipients: mail.recipients, data })
      }
    }
    await Promise.all(Array.from({ length: Math.min(incoming, submittersMax) }, submit))
  } catch (error) {
    throw new Error(`the queue is made, but not all of its incoming mail: ${lineOf(error)}`, { cause: error })
  } finally {
    queue.crash()
  }
}
