/** A directory that gets another name, or whose name another directory gets, while a disk has it
 * locked. */
import { mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { write } from './fixture.js'

let parent = ''
let root = ''
let disk: Disk
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), 'waybill-moved-'))
  root = join(parent, 'queue')
  disk = nodeDisk(root)
  await disk.makeDirectory('')
  await disk.lock('lock')
})
afterEach(() => {
  disk.abandon()
  return rm(parent, { recursive: true, force: true })
})

/** As an operator does who restores a backup while the old process still runs. */
async function replaced(): Promise<void> {
  await rename(root, join(parent, 'old'))
  await mkdir(root)
}

test('a file that is removed is that of the locked directory, not that of its successor', async () => {
  await write(disk, 'mail', Buffer.from('of the first owner'))
  await replaced()
  await writeFile(join(root, 'mail'), 'of the second owner')
  await disk.unlink('mail')
  expect(await readFile(join(root, 'mail'), 'utf8')).toBe('of the second owner')
  expect(await readdir(join(parent, 'old'))).toEqual(['lock'])
})

test('what is made, renamed and listed is in the locked directory', async () => {
  await replaced()
  await disk.makeDirectory('journal')
  await write(disk, 'journal/a', Buffer.from('a'))
  await disk.rename('journal/a', 'journal/b')
  await disk.syncDirectory('journal')
  expect(await disk.list('journal')).toEqual(['b'])
  expect(await disk.stat('journal/b')).toMatchObject({ lengthBytes: 1 })
  expect(await readdir(root)).toEqual([])
})

test.each([
  ['replaced', replaced],
  ['moved away', (): Promise<void> => rename(root, join(parent, 'old'))],
  [
    'replaced by a file',
    async (): Promise<void> => {
      await rename(root, join(parent, 'old'))
      await writeFile(root, '')
    },
  ],
  [
    'moved behind a link to another one',
    async (): Promise<void> => {
      await replaced()
      await rm(root, { recursive: true })
      await mkdir(join(parent, 'next'))
      await symlink('next', root)
    },
  ],
])('the free room of a directory that was %s is refused, with its place', async (_, disturb) => {
  await disk.space()
  await disturb()
  await expect(disk.space()).rejects.toMatchObject({
    code: 'DISK_FAILED',
    message: expect.stringContaining('the directory of the queue was moved or replaced') as string,
    place: { path: root, operation: 'space', errno: 'ESTALE' },
  })
})

test('a directory that comes back under its name goes on', async () => {
  await replaced()
  await rm(root, { recursive: true })
  await rename(join(parent, 'old'), root)
  expect(await disk.space()).toMatchObject({ freeBytes: expect.any(Number) as number })
})

test('a link that is made anew to the same directory changes nothing', async () => {
  const link = join(parent, 'current')
  await mkdir(join(parent, 'other'))
  await symlink('other', link)
  const behind = nodeDisk(link)
  await behind.makeDirectory('')
  await behind.lock('lock')
  await unlink(link)
  await symlink(join(parent, 'other'), link)
  expect(await behind.space()).toMatchObject({ freeBytes: expect.any(Number) as number })
  behind.abandon()
})

test('a lock that is waited for is that of the directory which has the name then', async () => {
  const next = nodeDisk(root)
  await expect(next.lock('lock')).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  await replaced()
  await next.lock('lock')
  await write(next, 'mail', Buffer.from('of the second owner'))
  expect(await readdir(root)).toEqual(['lock', 'mail'])
  next.abandon()
})
