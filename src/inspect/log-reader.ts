/** Every record of a log that is still on disk and may be believed, oldest first, over damage.
 * Beside a running relay, a segment that goes while it is read is left out: it is gone, not damaged. */
import { nowhere, position, type Position } from '../base/position.js'
import { classAt, kindAt, kindName, payloadAt, timeAt } from '../record/frame.js'
import { damageAt, type Finding, type Report } from './finding.js'
import { Presence } from './presence.js'
import type { LogName, QueueDirectory } from './queue-directory.js'
import type { LoggedRecord } from './records.js'
import { indexesOf } from './segment-trouble.js'
import { floorOf, type Snapshot } from './snapshot.js'
import { readSurviving } from './surviving-frames.js'

const batchCountMax = 512
const batchBytesMax = 4 * 1024 * 1024

export interface LogRange {
  readonly name: LogName
  /** Default: the oldest segment on disk. */
  readonly from?: Position | undefined
  /** Default: what may be believed. */
  readonly to?: Position | undefined
  /** Leaves payloads empty: for those who only count and check. */
  readonly withoutPayloads?: boolean
}

const noPayload = Buffer.alloc(0)

/** How far a log may be believed; `nowhere` for one that no checkpoint knows. */
export function endOfLog(name: LogName, { journal, lanes }: Snapshot): Position {
  if (name === 'journal') return journal.end
  const [lane, part] = name.split('/')
  const view = lanes.find(({ lane: number, inJournal }) => number === Number(lane) && !inJournal)
  return view === undefined ? nowhere : part === 'data' ? view.dataEnd : view.end
}

/** Behind this everything is needed; before it only what an active message holds. */
export function floorOfLog(name: LogName, snapshot: Snapshot): Position {
  if (name === 'journal') return floorOf(snapshot)
  const [lane, part] = name.split('/')
  const view = snapshot.lanes.find(({ lane: number }) => number === Number(lane))
  return view === undefined ? nowhere : part === 'data' ? view.dataFloor : view.checkpointRunner
}

export async function* readLog(
  directory: QueueDirectory,
  snapshot: Snapshot,
  { name, from, to, withoutPayloads = false }: LogRange,
  report: Report,
  onProgress?: (readBytes: number) => void,
): AsyncGenerator<readonly LoggedRecord[]> {
  const files = directory.log(name)
  const { grid } = files
  const presence = new Presence(directory, snapshot)
  const end = position(Math.min(to ?? Infinity, endOfLog(name, snapshot)))
  const path = name === 'journal' ? 'journal' : `lanes/${name}`
  const there = (await directory.segments(path)).filter((index) => grid.at(index, 0) < end)
  const needed = indexesOf(files, position(Math.max(from ?? 0, floorOfLog(name, snapshot))), end)
  const indexes = [...new Set([...there, ...needed])].sort((a, b) => a - b)
  for (const index of indexes) {
    let at = position(Math.max(from ?? 0, grid.firstOf(index)))
    const contentEnd =
      name === 'journal' && grid.at(index + 1, 0) < end
        ? await snapshot.journal.endOf(index)
        : grid.at(index, grid.segmentBytes)
    const segmentEnd = position(Math.min(end, contentEnd))
    while (at < segmentEnd) {
      const batch: LoggedRecord[] = []
      const findings: Finding[] = []
      let bytesLeft = batchBytesMax
      const before = at
      at = await readSurviving(files, {
        from: at,
        end: segmentEnd,
        endOf: async () => segmentEnd,
        visit: (window, windowAt, place, bytes) => {
          batch.push({
            log: name,
            position: place,
            segment: index,
            offset: grid.offsetOf(place),
            bytes,
            kind: kindName(kindAt(window, windowAt))!,
            lane: classAt(window, windowAt),
            timeMs: timeAt(window, windowAt),
            payload: withoutPayloads ? noPayload : Buffer.from(payloadAt(window, windowAt)),
          })
          bytesLeft -= bytes
          return batch.length >= batchCountMax || bytesLeft <= 0
        },
        onGap: async (gap) => {
          const floor = floorOfLog(name, await presence.now())
          const needed = position(Math.max(gap.from, floor))
          if (needed < gap.to)
            findings.push(damageAt(files, needed, gap.to - needed, gap.reason, 'the records in it'))
          return gap.to
        },
      })
      for (const finding of findings) report(finding)
      onProgress?.(at - before)
      if (batch.length > 0) yield batch
    }
    await files.forget(index)
    await files.forget(index + 1)
  }
}
