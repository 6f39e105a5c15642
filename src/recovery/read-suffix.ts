/** Reads the working suffix into a working set. */
import { nowhere, type Position } from '../base/position.js'
import type { Journal } from '../log/journal.js'
import type { SegmentFiles } from '../log/segment-files.js'
import { decodeDelivery } from '../record/delivery.js'
import { decodeEnvelope, mayHaveKey } from '../record/envelope.js'
import { decodeFinish } from '../record/finish.js'
import { classAt, kindAt, kinds, payloadAt, timeAt } from '../record/frame.js'
import type { AcceptedKey } from '../record/keys.js'
import { decodeMarks } from '../record/marks.js'
import { decodeReplaced } from '../record/replaced.js'
import { decodeStart } from '../record/start.js'
import { WorkingSet, type SuffixFacts } from './working-set.js'

export interface Suffix {
  readonly working: WorkingSet
  /** Spool files that an envelope of the suffix names. */
  readonly spoolsNamed: ReadonlySet<number>
  /** Envelopes of the suffix with a key, in order. */
  readonly keyed: readonly KeyedEnvelope[]
}

export interface KeyedEnvelope extends AcceptedKey {
  readonly envelope: Position
}

/** @param end where the journal ended when this life began
 * @param needsEnvelopes replacements may stand in the journal, or spool files must be judged
 * @throws WaybillError LOG_CORRUPT */
export async function readSuffix(
  journal: Pick<Journal, 'read'>,
  facts: SuffixFacts,
  end: Position,
  needsEnvelopes: boolean,
): Promise<Suffix> {
  const working = new WorkingSet(facts)
  const spoolsNamed = new Set<number>()
  const keyed: KeyedEnvelope[] = []
  await journal.read(facts.suffix, end, (window, at, position) => {
    const kind = kindAt(window, at)
    if (kind === kinds.start) working.start(position, classAt(window, at), decodeStart(payloadAt(window, at)))
    else if (kind === kinds.delivery) working.delivery(position, decodeDelivery(payloadAt(window, at)))
    else if (kind === kinds.finish) working.finish(position, decodeFinish(payloadAt(window, at)))
    else if (kind === kinds.replaced)
      working.replaced(
        position,
        classAt(window, at),
        timeAt(window, at),
        decodeReplaced(payloadAt(window, at)),
      )
    else if (kind === kinds.envelope && (needsEnvelopes || mayHaveKey(payloadAt(window, at)))) {
      const { id, acceptedAt, data, replaces, key } = decodeEnvelope(payloadAt(window, at))
      if (key !== undefined) keyed.push({ key, id, acceptedAt, envelope: position })
      if (replaces !== nowhere) working.replacedBy(position, replaces)
      if (data.kind === 'spool') spoolsNamed.add(data.number)
    }
  })
  return { working, spoolsNamed, keyed }
}

/** Marked envelopes that the runner has not passed: from a lane's chain of `marks` records, the
 * checkpoint's first, back to the runner's position.
 * @param log the log that holds the lane's envelopes
 * @throws WaybillError LOG_CORRUPT */
export async function readMarks(log: SegmentFiles, last: Position, runner: Position): Promise<Position[]> {
  const marked: Position[] = []
  // A record names envelopes that stand before it.
  for (let at = last; at !== nowhere && at >= runner;) {
    const frame = await log.frame(at)
    if (frame.kind !== 'marks') throw log.corrupt(at, `a ${frame.kind} record stands where marks should`)
    const { previous, envelopes } = decodeMarks(frame.payload)
    for (const envelope of envelopes) if (envelope >= runner) marked.push(envelope)
    at = previous
  }
  return marked
}
