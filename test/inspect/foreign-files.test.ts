/** What somebody laid into a queue's directory, or took out of it: commands tell of it, and neither
 * hang nor fail by how much there is. */
import { expect, test } from 'vitest'
import { diskFailure } from '../../src/disk/failure.js'
import { segmentName } from '../../src/log/segment.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import { command, type Commanded } from './commanded.js'
import { frozenQueue } from './frozen-queue.js'
import { MemoryDisk, type Files } from './memory-disk.js'

const sound = frozenQueue()
const newest = 'journal/000000000004.log'

const said = (inspect: InspectCommand, files: Files, disk = new MemoryDisk(files, sound.directories)) =>
  command(inspect, [], () => disk, sound.nowMs)

const damagesIn = ({ stdout, stderr }: Commanded): string[] =>
  `${stdout}${stderr}`.split('\n').filter((line) => line.startsWith('damage: '))

const all = (await said(mailq, sound.files)).stdout

test('a file with the name of a segment far away is told of, and all mail is listed', async () => {
  for (const content of [Buffer.alloc(0), sound.files.get(newest)!])
    for (const index of [0xff_ffff, 2 ** 48 - 1]) {
      const files = new Map(sound.files).set(`journal/${segmentName(index)}`, content)
      const listed = await said(mailq, files)
      expect([listed.exitCode, listed.stdout]).toEqual([1, all])
      expect(damagesIn(listed)).toEqual([
        expect.stringContaining(`journal, segment ${index}, offset 0: the `),
        expect.stringContaining(
          `journal, segment 5, offset 0: ${index - 5} segments are missing, this is the first;`,
        ),
      ])
      expect(damagesIn(await said(logVerify, files))).toEqual(damagesIn(listed))
    }
})

/** Whose reads of one file are refused. */
function refusing(path: string, errno: string) {
  const disk = new MemoryDisk(sound.files, sound.directories)
  return Object.assign(Object.create(disk) as MemoryDisk, {
    list: (directory: string) => disk.list(directory),
    stat: (other: string) => disk.stat(other),
    open: async (opened: string, mode: string) => {
      const file = await disk.open(opened, mode)
      if (opened !== path) return file
      return { ...file, read: () => Promise.reject(diskFailure('read', path, errno)) }
    },
  })
}

test.each([
  ['EIO', 'the disk refused to read it: EIO'],
  ['EISDIR', 'this is a directory'],
  ['ESPIPE', 'this is no file'],
])('a segment of the journal whose reads fail with %s is told of by its name', async (errno, reason) => {
  const { exitCode, stdout, stderr } = await said(mailq, sound.files, refusing(newest, errno))
  expect(exitCode).toBe(1)
  expect(stderr).toContain(`damage: journal, segment 4, offset 0: ${reason}; lost: the records`)
  expect(stdout).toContain('held0@slow.example')
})

test.each([
  ['EISDIR', 'this is a directory'],
  ['ESPIPE', 'this is no file'],
])('where queue.json cannot be read, with %s, all mail is listed', async (errno, reason) => {
  const listed = await said(mailq, sound.files, refusing('queue.json', errno))
  expect([listed.exitCode, listed.stdout]).toEqual([1, all])
  expect(damagesIn(listed)).toEqual([
    `damage: queue.json: ${reason}; lost: nothing, but the queue does not open`,
  ])
})

test('where the journal is gone, that is told however many files are left, and none is called needless', async () => {
  const left = new Map([...sound.files].filter(([path]) => !path.startsWith('journal/')))
  left.set('spool/00001fffffff.mail', Buffer.from('x'))
  for (let i = 0; i < 150_000; i++) left.set(`lanes/9/data/${segmentName(i)}`, Buffer.alloc(0))
  const { exitCode, stdout } = await said(logVerify, left)
  expect(exitCode).toBe(1)
  expect(stdout).toContain(
    'the journal is missing, but the queue was used: there is spool/000010000001.mail;',
  )
  expect(stdout).toMatch(/^spool: \d files? of no message that is found$/m)
})

test('what is left in the spool of a sound queue is told to go with the next start', async () => {
  const files = new Map(sound.files).set('spool/00001fffffff.mail', Buffer.from('x'))
  const { exitCode, stdout } = await said(logVerify, files)
  expect(exitCode).toBe(0)
  expect(stdout).toContain('\nspool: 1 file of no message, removed by the next start\nsound\n')
})
