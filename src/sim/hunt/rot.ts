/** Rot after a crash: one bit flips in a segment, a spool file, or the last batch of the journal.
 * Promise: it harms no message, or the queue reports the place: it does not open, emits a warning,
 * or cuts and counts a torn batch. A report excuses only what it explains: an unreadable message,
 * the messages behind the place in a stopped lane, those with a record in the cut batch.
 * Never excused: wrong data that reaches a transport, and (except for the cut batch) a second
 * attempt of mail that was durably delivered or had ended. */
import { below, type Prng } from '../../base/prng.js'
import { journalDirectory } from '../../log/journal.js'
import { limitSlotBytes } from '../../log/limit-slots.js'
import { blockBytes } from '../../log/segment.js'
import { limitName } from '../../log/write-limit.js'
import { aftermath } from '../life/aftermath.js'
import type { CrashPoint } from '../life/crash-point.js'
import type { DiskImage } from '../disk/disk-image.js'
import type { EventOrder } from '../world/event-queue.js'
import type { QueueLife } from '../life/queue-life.js'
import { lastBatchOf, witnessOf, type Witness } from './rot-witness.js'
import type { Violation } from '../model/violation.js'
import type { Workload } from '../workload/workload.js'

export interface RotOptions {
  readonly seed: number
  readonly order: EventOrder
  readonly workload: Workload
  readonly point: CrashPoint
  /** The image after the crash; it is used up. */
  readonly image: DiskImage
  readonly prng: Prng
}

/** Unreported harm, and harm that must never happen. */
export async function rotten(options: RotOptions): Promise<Violation[]> {
  const { image, prng } = options
  // Rot in the log of outcomes harms no mail: test/engine/outcomes.
  const files = image.files().filter((path) => /^(?!outcomes\/).*\.(log|mail)$/.test(path))
  if (files.length === 0) return []
  const path = files[below(prng, files.length)]!
  const { lengthBytes } = image.file(path).cached
  if (lengthBytes === 0) return []
  return rottenAt(options, path, below(prng, lengthBytes))
}

/** The same in the last batch, which is cut: everything else must be as before it. */
export async function rottenInLastBatch(options: RotOptions): Promise<Violation[]> {
  const last = await lastBatchOf(options.image)
  if (last === undefined) return []
  return rottenAt(options, last.path, last.offset + below(options.prng, last.bytes))
}

/** A bit of the write limit, which is of use and never needed: that harms no message, and no
 * warning comes. */
export async function rottenInLimit({
  seed,
  order,
  workload,
  point,
  image,
  prng,
}: RotOptions): Promise<readonly Violation[]> {
  const path = `${journalDirectory}/${limitName}`
  if (!image.files().includes(path)) return []
  const offset = blockBytes * below(prng, 2) + below(prng, limitSlotBytes)
  image.flipBit(path, offset, below(prng, 8))
  const { model } = await aftermath({
    seed: seed + point.n,
    order,
    workload,
    model: point.model.copy(),
    image,
    wallMs: point.wallMs + 1,
    looks: false,
  })
  return model.violations.map((violation) => ({
    ...violation,
    text: `rot in ${path} at ${offset}: ${violation.text}`,
  }))
}

async function rottenAt(
  { seed, order, workload, point, image, prng }: RotOptions,
  path: string,
  offset: number,
): Promise<Violation[]> {
  const witness = await witnessOf(image, path, offset)
  image.flipBit(path, offset, below(prng, 8))
  const life = await aftermath({
    seed: seed + point.n,
    order,
    // What consumers are owed may stand in the journal where it rots.
    workload: { ...workload, consumes: false },
    model: point.model.copy(),
    image,
    wallMs: point.wallMs + 1,
    looks: (seed + point.n) % 2 === 0,
  })
  const excuses = new RotExcuses(life, witness, path)
  return life.model.violations
    .filter((violation) => !excuses.explain(violation))
    .map((violation) => ({ ...violation, text: `rot in ${path} at ${offset}: ${violation.text}` }))
}

/** Codes of errors for bytes that do not verify. */
const damageCodes: readonly string[] = ['LOG_CORRUPT', 'DATA_CORRUPT', 'FORMAT_NEWER', 'LIST_INCOMPLETE']

/** How errors call the log, or the file. */
const wordsOf = (path: string): string =>
  path
    .replace(/^spool.*$/, 'path $&')
    .replace(/^lanes.([0-9]+).(\w+).*$/, 'log lane $1 $2')
    .replace(/^journal.*$/, 'log journal')

/** The harm that the notices of a life explain. */
class RotExcuses {
  readonly #life: QueueLife
  readonly #path: string
  readonly #witness: Witness
  readonly #isCut: boolean
  readonly #lanes: ReadonlySet<number>
  readonly #warned: ReadonlySet<string>
  readonly #isUnread: boolean

  /** @param path of the file that has rotted */
  constructor(life: QueueLife, witness: Witness, path: string) {
    this.#life = life
    this.#path = path
    this.#witness = witness
    const { notices } = life
    const warnings = notices.filter((notice) => notice.kind === 'warning')
    this.#isCut = notices.some(({ kind }) => kind === 'cut') && witness.isInLastBatch
    this.#lanes = new Set(
      warnings.flatMap(({ text }) => /^lane ([0-9]+) stands still/.exec(text)?.[1] ?? []).map(Number),
    )
    this.#warned = new Set(warnings.flatMap(({ message }) => message ?? []))
    this.#isUnread = warnings.some(({ text }) => text.startsWith('a message cannot be read'))
  }

  explain({ oracle, text, message, code }: Violation): boolean {
    if (text.startsWith('the data of')) return false
    if (code !== undefined) return this.#isTrue(code, text)
    if (text.startsWith('a verb could not read')) return this.#someWait()
    // Waiting messages keep their files, also those that are on hold again.
    if (oracle === 'O7')
      return this.#lanes.size > 0 || this.#someWait() || (this.#isCut && this.#witness.ofLastBatch.size > 0)
    if (message === undefined) return this.#isOfRevived(text)
    // Retries go by way of the lanes that go on.
    if (text.endsWith('before its retry is due') && this.#lanes.size > 0) return true
    const { model } = this.#life
    const family = model.familyOf(message)
    if (this.#isCut && family.some((name) => this.#witness.ofLastBatch.has(name))) return true
    return oracle !== 'O2' && oracle !== 'O4' && family.some((name) => this.#waits(name))
  }

  /** An order counted ended messages, too: at most those in the cut batch. */
  #isOfRevived(text: string): boolean {
    const [, told, meant] = /carried out on (\d+) messages of (\d+)$/.exec(text) ?? []
    return this.#isCut && Number(told) - Number(meant) <= this.#witness.ofLastBatch.size
  }

  /** The report names the damage. A lane is as whole without the last batch as with it. */
  #isTrue(code: string, text: string): boolean {
    if (this.#witness.isInLastBatch && !text.includes('(log lane ')) return damageCodes.includes(code)
    return damageCodes.includes(code) && text.includes(wordsOf(this.#path))
  }

  /** A message cannot be read, and that was reported. */
  #someWait(): boolean {
    return [...this.#witness.touched].some((name) => this.#waits(name))
  }

  /** It cannot be read, or no reader reaches it. */
  #waits(name: string): boolean {
    const { touched, behind, laneOf } = this.#witness
    if (touched.has(name) && (this.#isUnread || this.#warned.has(name))) return true
    const wentTo = this.#life.wentTo.get(name)
    if (wentTo !== undefined) return this.#lanes.has(wentTo)
    const lane = laneOf.get(name)
    return (
      lane !== undefined && this.#lanes.has(lane) && (this.#isCut || behind.get(lane)?.has(name) === true)
    )
  }
}
