/** The contract of the disk port, as tests: run against Node's disk and against the simulated
 * one. */
import { describe, expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { contentOf, refusal, write } from './fixture.js'
import { nameContract } from './name-contract.js'

export interface Subject {
  readonly disk: Disk
  /** Another life on the same directory. */
  readonly reopen: () => Disk
  /** Lets calls happen until this one settles. */
  readonly settle: <T>(promise: Promise<T>) => Promise<T>
  readonly remove: () => Promise<void>
}

export type Body = (disk: Disk, subject: Subject) => Promise<void>

export function diskContract(driver: string, create: () => Promise<Subject>): void {
  const on = (body: Body) => async (): Promise<void> => {
    const subject = await create()
    try {
      await subject.settle(subject.disk.makeDirectory(''))
      await subject.settle(body(subject.disk, subject))
    } finally {
      await subject.remove()
    }
  }
  describe(`${driver}: files`, () => {
    fileContract(on)
  })
  describe(`${driver}: names`, () => {
    nameContract(on)
  })
  describe(`${driver}: lives`, () => {
    lifeContract(on)
  })
}

/** Makes a test of what is to be done on a disk. */
export type On = (body: Body) => () => Promise<void>

function fileContract(on: On): void {
  test(
    'what was written is read back, and reading stops at the end',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      await file.write(Buffer.from('hello'), 3)
      expect(await file.size()).toBe(8)
      const into = Buffer.alloc(10, 0xff)
      expect(await file.read(into, 0)).toBe(8)
      expect(into).toEqual(Buffer.concat([Buffer.from('\0\0\0hello'), Buffer.from([0xff, 0xff])]))
      expect(await file.read(into, 8)).toBe(0)
      expect(await file.read(into, 100)).toBe(0)
      await file.close()
    }),
  )

  test(
    'what is said of a file needs no open one',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      await file.write(Buffer.from('hello'), 3)
      expect(await disk.stat('a')).toEqual({ lengthBytes: 8, nameCount: 1 })
      await file.close()
      await disk.rename('a', 'b')
      expect(await disk.stat('b')).toEqual({ lengthBytes: 8, nameCount: 1 })
      await expect(disk.stat('a')).rejects.toMatchObject({ code: 'DISK_FAILED', place: { errno: 'ENOENT' } })
    }),
  )

  test(
    'a write in the middle leaves the bytes around it',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      await file.write(Buffer.alloc(10_000, 1), 0)
      await file.write(Buffer.alloc(5_000, 2), 3_000)
      const expected = Buffer.concat([Buffer.alloc(3_000, 1), Buffer.alloc(5_000, 2), Buffer.alloc(2_000, 1)])
      expect(await contentOf(disk, 'a')).toEqual(expected)
      await file.close()
    }),
  )

  test(
    'a cut file that grows again has zeroes where it was cut',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      await file.write(Buffer.alloc(9_000, 7), 0)
      await file.truncate(5_000)
      await file.truncate(9_000)
      expect(await contentOf(disk, 'a')).toEqual(Buffer.concat([Buffer.alloc(5_000, 7), Buffer.alloc(4_000)]))
      await file.close()
    }),
  )

  test(
    'a synced file takes writes and syncs like another',
    on(async (disk) => {
      await write(disk, 'a', Buffer.alloc(8_192))
      const file = await disk.open('a', 'synced')
      await file.write(Buffer.alloc(4_096, 5), 4_096)
      await file.sync()
      expect(await contentOf(disk, 'a')).toEqual(Buffer.concat([Buffer.alloc(4_096), Buffer.alloc(4_096, 5)]))
      await file.close()
    }),
  )

  test(
    'several writes under way at once all happen',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      const pages = [0, 1, 2, 3, 4, 5]
      await Promise.all(pages.map((page) => file.write(Buffer.alloc(4_096, page), (5 - page) * 4_096)))
      await file.sync()
      const content = await contentOf(disk, 'a')
      expect(pages.map((page) => content[page * 4_096])).toEqual([5, 4, 3, 2, 1, 0])
      await file.close()
    }),
  )

  test(
    'close waits for the writes that are under way, and no call follows it',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      const writes = [0, 1, 2, 3].map((at) => file.write(Buffer.alloc(100_000, at + 1), at * 100_000))
      await file.close()
      await Promise.all(writes)
      expect((await contentOf(disk, 'a'))[399_999]).toBe(4)
      await expect(file.size()).rejects.toThrow('no call follows the close of a file')
    }),
  )

  test(
    'a file opened for reading cannot be written',
    on(async (disk) => {
      await write(disk, 'a', Buffer.alloc(10))
      const file = await disk.open('a', 'read')
      expect(await refusal(file.write(Buffer.alloc(1), 0))).toBe('DISK_FAILED EBADF')
      await file.close()
    }),
  )

  test(
    'an open file is still there after its name is gone',
    on(async (disk) => {
      await write(disk, 'a', Buffer.from('content'))
      const file = await disk.open('a', 'read')
      await disk.unlink('a')
      const into = Buffer.alloc(7)
      expect(await file.read(into, 0)).toBe(7)
      expect(into.toString()).toBe('content')
      await file.close()
    }),
  )
}

function lifeContract(on: On): void {
  test(
    'there is one owner until it abandons the disk; the next one reads what it wrote',
    on(async (disk, { reopen }) => {
      await disk.lock('lock')
      await write(disk, 'a', Buffer.from('content'))
      const second = reopen()
      expect(await refusal(second.lock('lock'))).toBe('QUEUE_LOCKED')
      disk.abandon()
      await second.lock('lock')
      expect(await second.list('')).toEqual(['a', 'lock'])
      expect(await contentOf(second, 'a')).toEqual(Buffer.from('content'))
      second.abandon()
    }),
  )

  test(
    'a disk that is abandoned twice is free for the next owner',
    on(async (disk, { reopen }) => {
      await disk.lock('lock')
      disk.abandon()
      disk.abandon()
      const second = reopen()
      await expect(second.lock('lock')).resolves.toBeDefined()
      second.abandon()
    }),
  )

  test(
    'nothing that an abandoned life began happens once the next one has the lock',
    on(async (disk, { reopen }) => {
      await disk.lock('lock')
      const file = await disk.open('a', 'create')
      const writes = [0, 1, 2, 3, 4, 5, 6, 7].map((at) => file.write(Buffer.alloc(500_000, 1), at * 500_000))
      void Promise.allSettled(writes)
      disk.abandon()
      const second = reopen()
      await second.lock('lock')
      const before = await contentOf(second, 'a')
      await second.syncDirectory('')
      expect((await contentOf(second, 'a')).equals(before)).toBe(true)
      second.abandon()
    }),
  )

  test(
    'an abandoned disk takes no call',
    on(async (disk) => {
      const file = await disk.open('a', 'create')
      disk.abandon()
      expect(await refusal(disk.list(''))).toBe('QUEUE_CRASHED')
      expect(await refusal(file.write(Buffer.alloc(1), 0))).toBe('QUEUE_CRASHED')
      disk.abandon()
    }),
  )

  test(
    'there is room on the disk, and it is a number',
    on(async (disk) => {
      const { freeBytes, freeFiles } = await disk.space()
      expect(freeBytes).toBeGreaterThan(0)
      expect(freeFiles).toBeGreaterThan(0)
    }),
  )
}
