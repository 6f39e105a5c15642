/** Rot in what a crash left: one bit turned over, anywhere in a segment or a spool file.
 * Promise: it harms nobody, or the queue says where it is: it does not open, or a warning comes, or a torn batch is cut and
 * counted. Said or not, data that is not what was submitted is handed to no transport; nor is, but for a batch that was cut, what
 * was delivered durably or had ended. */
import { below, type Prng } from '../base/prng.js'
import { aftermath } from './aftermath.js'
import type { CrashPoint } from './crash-point.js'
import type { CrashState } from './crash-states.js'
import type { EventOrder } from './event-queue.js'
import type { Violation } from './violation.js'
import type { Workload } from './workload.js'

export interface RotOptions {
  readonly seed: number
  readonly order: EventOrder
  readonly workload: Workload
  readonly point: CrashPoint
  readonly state: CrashState
  readonly prng: Prng
}

/** What is wrong and was not reported, or must never happen. */
export async function rotten({
  seed,
  order,
  workload,
  point,
  state,
  prng,
}: RotOptions): Promise<Violation[]> {
  const { image } = state
  const files = image.files().filter((path) => /\.(log|mail)$/.test(path))
  if (files.length === 0) return []
  const path = files[below(prng, files.length)]!
  const { lengthBytes } = image.file(path).cached
  if (lengthBytes === 0) return []
  const offset = below(prng, lengthBytes)
  image.flipBit(path, offset, below(prng, 8))
  const life = await aftermath({
    seed: seed + point.n,
    order,
    workload,
    model: point.model.copy(),
    image,
    wallMs: point.wallMs + 1,
    looks: false,
  })
  const isReported = life.reports.length > 0
  const isCut = life.reports.some((text) => text.endsWith('bytes cut'))
  return life.model.violations
    .filter((violation) => !isReported || isNeverExcused(violation, isCut))
    .map(({ oracle, text }) => ({ oracle, text: `rot in ${path} at ${offset}: ${text}` }))
}

const isNeverExcused = ({ oracle, text }: Violation, isCut: boolean): boolean =>
  text.startsWith('the data of') || (!isCut && (oracle === 'O2' || oracle === 'O4'))
