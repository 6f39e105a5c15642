/** Reads the working suffix into the state that a start would find, over damage.
 * Invariant: recovery's own WorkingSet applies the records; refused records are
 * reported and left out. */
import { nowhere } from '../../base/position.js'
import { decodeDelivery } from '../../record/delivery.js'
import { decodeEnvelope } from '../../record/envelope.js'
import { decodeFinish } from '../../record/finish.js'
import { classAt, kindAt, kinds, payloadAt, timeAt } from '../../record/frame.js'
import { decodeReplaced, type Replaced } from '../../record/replaced.js'
import { decodeStart, type Start } from '../../record/start.js'
import { WorkingSet, type SuffixFacts } from '../../recovery/working-set.js'
import { damageAt, findingOf, isDamage, type Report } from '../damage/finding.js'
import type { JournalView } from './journal-view.js'
import { readSurviving } from '../damage/surviving-frames.js'

/** Bound of findings in one fold; a broken journal could have one for each record. */
const findingsMax = 1000

export interface Folded {
  readonly working: WorkingSet
  /** Spool files that an envelope of the suffix names. */
  readonly spoolsNamed: ReadonlySet<number>
  /** A part of the suffix does not verify: a start may be missing. */
  readonly isDamaged: boolean
}

/** Sees records with the lane that they name. */
export interface FoldVisitor {
  readonly start: (lane: number, start: Start) => void
  readonly replaced?: (lane: number, note: Replaced) => void
}

export async function fold(
  { files, end, endOf }: Pick<JournalView, 'files' | 'end' | 'endOf'>,
  facts: SuffixFacts,
  report: Report,
  visitor?: FoldVisitor,
): Promise<Folded> {
  const working = new WorkingSet(facts)
  const spoolsNamed = new Set<number>()
  let count = 0
  const tell: Report = (finding) => {
    if (++count <= findingsMax) report(finding)
  }
  await readSurviving(files, {
    from: facts.suffix,
    end,
    endOf,
    onGap: ({ from, to, reason }) => {
      tell(
        damageAt(
          files,
          from,
          to - from,
          reason,
          'outcomes and starts in the working suffix: mail may be tried again, and active mail may be missing',
        ),
      )
      return to
    },
    visit: (window, at, place) => {
      const kind = kindAt(window, at)
      const payload = payloadAt(window, at)
      const lane = classAt(window, at)
      try {
        if (kind === kinds.start) {
          const start = decodeStart(payload)
          working.start(place, lane, start)
          visitor?.start(lane, start)
        } else if (kind === kinds.delivery) working.delivery(place, decodeDelivery(payload))
        else if (kind === kinds.finish) working.finish(place, decodeFinish(payload))
        else if (kind === kinds.replaced) {
          const note = decodeReplaced(payload)
          visitor?.replaced?.(lane, note)
          working.replaced(place, lane, timeAt(window, at), note)
        } else if (kind === kinds.envelope) {
          const { data, replaces } = decodeEnvelope(payload)
          if (replaces !== nowhere) working.replacedBy(place, replaces)
          if (data.kind === 'spool') spoolsNamed.add(data.number)
        }
      } catch (error) {
        if (!isDamage(error)) throw error
        tell(findingOf(error, files.placeOf(place), 'an outcome: mail may be tried again'))
      }
    },
  })
  return { working, spoolsNamed, isDamaged: count > 0 }
}
