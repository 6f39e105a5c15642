/** The last records of the journal, as `log tail` shows them. */
import { expect, test } from 'vitest'
import { segmentName } from '../../../src/log/segment.js'
import { encodeCheckpoint } from '../../../src/record/checkpoint.js'
import { kinds } from '../../../src/record/frame.js'
import { logDump } from '../../../tools/commands/look/log-dump.js'
import { logTail } from '../../../tools/commands/look/log-tail.js'
import { SegmentContent } from '../../log/segment-content.js'
import { command } from '../commanded.js'
import { frozenQueue } from '../frozen-queue.js'
import { MemoryDisk, type Files } from '../memory-disk.js'

const sound = frozenQueue()

test.each([['start'], ['delivery', 'finish'], ['pad']])(
  'the last records of a kind are shown, however many of others stand behind them: %s',
  async (...names) => {
    const wanted = names.flatMap((kind) => ['--kind', kind])
    const said = async (inspect: typeof logTail, ...args: string[]): Promise<string[]> => {
      const disk = new MemoryDisk(sound.files, sound.directories)
      const { stdout } = await command(inspect, [...args, ...wanted], () => disk, sound.nowMs)
      return stdout.split('\n')
    }
    const all = await said(logDump)
    for (const count of [0, 1, 3, 1000])
      expect(await said(logTail, '-n', String(count))).toEqual(all.slice(-count - 1))
  },
)

/** A journal of one segment. @param count records in it, at the least */
function long(count: number): Files {
  const segmentBytes = 8 * 1024 * 1024
  const log = new SegmentContent(segmentBytes, 1024 * 1024)
  const checkpoint = { life: 1, suffix: log.grid.firstOf(0), lanes: [], laneNext: 0, spoolHighest: 0 }
  const payload = encodeCheckpoint({ ...checkpoint, spoolPending: [] })
  log.commits.rememberCheckpoint(payload, log.commits.append(kinds.checkpoint, 0, 1, payload))
  for (let i = 0; i < count; i += 1000) {
    log.append(Array.from({ length: 1000 }, () => Buffer.alloc(8)))
    log.sync()
  }
  const header = JSON.stringify({ format: 2, segmentBytes, laneSegmentBytes: segmentBytes })
  return new Map([
    ['queue.json', Buffer.from(`${header}\n`)],
    [`journal/${segmentName(0)}`, log.segment(0)],
  ])
}

test('more records are shown than a call takes arguments', async () => {
  const files = long(150_000)
  const args = ['-n', '200000', '--kind', 'data']
  const { exitCode, stdout, stderr } = await command(logTail, args, () => new MemoryDisk(files), sound.nowMs)
  expect([exitCode, stderr]).toEqual([0, ''])
  expect(stdout.split('\n')).toHaveLength(150_001)
})
