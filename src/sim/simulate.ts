/** Crash tests for embedders: their transport, their messages, our crashes.
 * Invariant: the transport is made anew in every life, as in a process that starts again; the world
 * outside is made anew for every run. The same options give the same runs.
 * Crashes are drawn by calls of the disk. One in eight comes while the queue is made or opened; the
 * others after the first submission or attempt of a life, within as many calls as an undisturbed
 * rehearsal takes. */
import { domainOf } from '../base/mail-address.js'
import { checkOptionNames, integerOption, type OptionNames } from '../base/options.js'
import { below, seededPrng } from '../base/prng.js'
import type { Transport } from '../delivery/transport.js'
import { openQueue } from '../queue.js'
import type { QueueOptions, Route } from '../engine/life/options.js'
import type { Queue } from '../queue.js'
import type { Submission } from '../engine/accept/submission.js'
import { isWaybillError } from '../errors.js'
import { DiskImage } from './disk/disk-image.js'
import { describeOperation } from './disk/operation.js'
import { SimDisk } from './disk/sim-disk.js'
import { SimWorld } from './world/world.js'

export interface SimulateOptions<World> {
  /** The world outside the queue, which survives its crashes: the other side of the transport. Made
   * for every run, and for a rehearsal, which `check` does not see. */
  readonly world: () => World
  /** The transports of one life. They wait by `clock` and by nothing else, or the run
   * does not repeat. */
  readonly transports: (world: World, clock: SimWorld['clock']) => Readonly<Record<string, Transport>>
  /** Submitted in the first life, one after the other. */
  readonly submissions: readonly Submission[]
  /** Called when no event is left. Its error is the verdict on the run.
   * @param settled which submissions were promised, by index */
  readonly check: (world: World, settled: readonly number[]) => void | Promise<void>
  /** Default: all to the only transport, the domain as nexthop. */
  readonly route?: (recipient: string) => Route
  /** Options of the queue; default: small segments. */
  readonly queue?: Omit<QueueOptions, 'transports' | 'route' | 'disk' | 'clock' | 'prng'>
  /** Runs, each with its own crashes, 1 … 1 000 000. Default 100. */
  readonly seeds?: number
  /** The first seed. Default 1; a failure is seen again by `from` its seed and `seeds: 1`. */
  readonly from?: number
  /** Crashes of one run, at most, 1 … 1000. Default 3. */
  readonly crashesMax?: number
}

export interface SimulatedCrash {
  /** The operation of the disk before which it came, and its state. */
  readonly op: number
  readonly operation: string
  readonly left: string
}

export interface Simulation {
  readonly runs: number
  readonly crashes: number
  /** The first run whose check threw; undefined when none did. */
  readonly failure:
    | { readonly seed: number; readonly error: unknown; readonly crashes: readonly SimulatedCrash[] }
    | undefined
}

const kibibyte = 1024
/** Of the crashes. */
const earlyOneIn = 8
/** The assumed length of a life that ended early. */
const callsDefault: LifeCalls = { opening: 80, work: 170 }
const longMs = 30 * 86_400_000
const small = { segmentBytes: 64 * kibibyte, laneSegmentBytes: 64 * kibibyte, inlineBytesMax: 4 * kibibyte }

const names: OptionNames<SimulateOptions<unknown>> = {
  world: true,
  transports: true,
  submissions: true,
  check: true,
  route: true,
  queue: true,
  seeds: true,
  from: true,
  crashesMax: true,
}

/** Runs the queue with these transports through power losses and kills, `seeds` times. Most of them
 * come while these submissions are made and attempted, a few while the queue is made or opens.
 * @throws WaybillError OPTION_INVALID by rejection: zero runs would find nothing wrong */
export async function simulate<World>(options: SimulateOptions<World>): Promise<Simulation> {
  checkOptionNames(options, names)
  const { seeds = 100, from = 1, crashesMax = 3 } = options
  integerOption('seeds', seeds, 1, 1_000_000)
  integerOption('from', from, 0, 2 ** 32 - 1)
  integerOption('crashesMax', crashesMax, 1, 1000)
  const calls = await rehearse(options)
  let crashCount = 0
  for (let seed = from; seed < from + seeds; seed++) {
    const crashes: SimulatedCrash[] = []
    try {
      await runOnce(options, seed, calls, crashes)
    } catch (error) {
      return {
        runs: seed - from + 1,
        crashes: crashCount + crashes.length,
        failure: { seed, error, crashes },
      }
    }
    crashCount += crashes.length
  }
  return { runs: seeds, crashes: crashCount, failure: undefined }
}

/** Calls of the disk that a life takes. */
interface LifeCalls {
  /** Up to the first submission, or attempt. */
  readonly opening: number
  /** From there on. */
  readonly work: number
}

/** One undisturbed life. Its errors occur again in the first run. */
async function rehearse<World>(options: SimulateOptions<World>): Promise<LifeCalls> {
  const sim = new SimWorld({ seed: 1 })
  const disk = new SimDisk(sim)
  let opening: number | undefined
  try {
    await live(options, options.world(), sim, disk, [], () => (opening ??= disk.callCount))
  } catch {
    return callsDefault
  }
  return opening === undefined ? callsDefault : { opening, work: disk.callCount - opening }
}

async function runOnce<World>(
  options: SimulateOptions<World>,
  seed: number,
  calls: LifeCalls,
  crashes: SimulatedCrash[],
): Promise<void> {
  const prng = seededPrng(seed)
  const outside = options.world()
  const settled: number[] = []
  const crashCount = 1 + below(prng, options.crashesMax ?? 3)
  let image = new DiskImage()
  let wallStartMs: number | undefined
  for (let life = 0; life <= crashCount; life++) {
    const isEarly = below(prng, earlyOneIn) === 0
    // A life after a crash has less to do.
    const range = isEarly ? calls.opening : calls.work / (life + 1)
    const crashIn = life === crashCount ? Infinity : 1 + below(prng, Math.max(1, Math.floor(range)))
    let crashFrom = isEarly ? 0 : Infinity
    const isKill = below(prng, 3) === 0
    const skipped = below(prng, 12)
    const sim = new SimWorld({ seed: prng.uint32(), ...(wallStartMs === undefined ? {} : { wallStartMs }) })
    let next: DiskImage | undefined
    const disk: SimDisk = new SimDisk(sim, {
      image,
      observer: {
        before: ({ n, operation }) => {
          if (n !== crashFrom + crashIn) return
          const states = [...(isKill ? disk.killStates() : disk.crashStates({ seed: n, statesMax: 24 }))]
          const chosen = states[skipped % states.length]!
          crashes.push({ op: n, operation: describeOperation(operation), left: chosen.describe() })
          next = chosen.image
          sim.stop()
        },
      },
    })
    await live(options, outside, sim, disk, life === 0 ? settled : undefined, () => {
      crashFrom = Math.min(crashFrom, disk.callCount)
    })
    wallStartMs = sim.clock.wallMs() + 1000
    if (next === undefined) break
    image = next
  }
  await options.check(outside, settled)
}

/** One life, until no event is left or the world stops.
 * @param settled in the first life, @param onWork something is submitted or to be attempted */
async function live<World>(
  { transports, route, queue, submissions }: SimulateOptions<World>,
  outside: World,
  sim: SimWorld,
  disk: SimDisk,
  settled: number[] | undefined,
  onWork: () => void,
): Promise<void> {
  const made = transports(outside, sim.clock)
  const [only] = Object.keys(made)
  const routed = route ?? ((recipient) => ({ transport: only!, nexthop: domainOf(recipient) }))
  let failure: { readonly error: unknown } | undefined
  const begin = async (): Promise<void> => {
    const opened: Queue = await openQueue('queue', {
      ...small,
      ...queue,
      transports: made,
      route: (recipient) => {
        onWork()
        return routed(recipient)
      },
      disk,
      clock: sim.clock,
      prng: sim.fork(),
    })
    opened.on('crashed', ({ error }) => (failure = { error }))
    if (settled === undefined) return
    for (const [index, submission] of submissions.entries()) {
      onWork()
      await opened.submit(submission)
      settled.push(index)
    }
  }
  begin().catch((error: unknown) => {
    if (!isWaybillError(error, 'QUEUE_CRASHED')) failure ??= { error }
  })
  await sim.run({ untilMs: longMs })
  if (failure !== undefined && !sim.stopped) throw failure.error
}
