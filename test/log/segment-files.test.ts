/** Descriptors of segments that are read: each is closed once nobody needs it, whatever became
 * of the reading. */
import { expect, test } from 'vitest'
import type { Disk, DiskFile } from '../../src/disk/disk.js'
import { SegmentFiles } from '../../src/log/segment-files.js'
import { encodeSegmentHeader, SegmentGrid } from '../../src/log/segment.js'

test('a segment that is read again while an earlier reading fails leaves no descriptor behind', async () => {
  const segmentBytes = 8 * 4096
  const header = encodeSegmentHeader({ log: 7, index: 0, segmentBytes, epoch: [1, 2], life: 1 })
  let openCount = 0
  const open = async (): Promise<DiskFile> => {
    openCount++
    const file: Partial<DiskFile> = {
      read: async (into) => header.copy(into),
      close: async () => void openCount--,
    }
    return file as DiskFile
  }
  const disk: Partial<Disk> = { open }
  const files = new SegmentFiles(disk as Disk, 'lane', 7, 'lane 3 data', new SegmentGrid(segmentBytes))
  let failSecond = (): void => undefined
  const second = new Promise<never>((_, reject) => (failSecond = () => reject(new Error('second'))))
  const failures = [
    files.with(0, async () => Promise.reject(new Error('first'))),
    files.with(0, () => second),
  ].map((use) => expect(use).rejects.toThrow(/first|second/))
  await failures[0]
  await files.with(0, async () => undefined)
  failSecond()
  await failures[1]
  await files.forgetAll()
  expect(openCount).toBe(0)
})
