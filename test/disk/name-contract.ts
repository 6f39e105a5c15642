/** The part of the contract that is about names and directories. */
import { expect, test } from 'vitest'
import type { On } from './contract.js'
import { contentOf, refusal, write } from './fixture.js'

export function nameContract(on: On): void {
  test(
    'a name that is not there is ENOENT for every call but list, and none makes it',
    on(async (disk) => {
      for (const mode of ['read', 'write', 'synced'] as const) {
        expect(await refusal(disk.open('nothing', mode))).toBe('DISK_FAILED ENOENT')
      }
      expect(await refusal(disk.unlink('nothing'))).toBe('DISK_FAILED ENOENT')
      expect(await refusal(disk.rename('nothing', 'b'))).toBe('DISK_FAILED ENOENT')
      expect(await refusal(disk.removeDirectory('nothing'))).toBe('DISK_FAILED ENOENT')
      expect(await refusal(disk.syncDirectory('nothing'))).toBe('DISK_FAILED ENOENT')
      expect(await refusal(disk.open('nothing/a', 'create'))).toBe('DISK_FAILED ENOENT')
      expect(await disk.list('')).toEqual([])
    }),
  )

  test(
    'creating a name that is there fails with EEXIST and leaves the file',
    on(async (disk) => {
      await write(disk, 'a', Buffer.from('content'))
      expect(await refusal(disk.open('a', 'create'))).toBe('DISK_FAILED EEXIST')
      expect(await refusal(disk.makeDirectory('a'))).toBe('DISK_FAILED EEXIST')
      expect(await contentOf(disk, 'a')).toEqual(Buffer.from('content'))
    }),
  )

  test(
    'what is asked at once happens, and what is refused among it fails alone',
    on(async (disk) => {
      const names = Array.from({ length: 40 }, (_, i) => `f${String(i).padStart(2, '0')}`)
      await write(disk, 'old', Buffer.from('content'))
      await write(disk, 'f07', Buffer.from('before'))
      const [, ...results] = await Promise.allSettled([
        disk.unlink('old'),
        ...names.map(async (name) => {
          const file = await disk.open(name, 'create')
          await file.write(Buffer.from(`of ${name}`), 0)
          await file.close()
        }),
        disk.unlink('nothing'),
      ])
      const failed = results.flatMap(({ status }, i) => (status === 'rejected' ? [i] : []))
      expect(failed).toEqual([7, names.length])
      expect(await disk.list('')).toEqual(names)
      for (const name of names)
        expect(String(await contentOf(disk, name))).toBe(name === 'f07' ? 'before' : `of ${name}`)
    }),
  )

  test(
    'names are listed in order, directories too; a missing directory is empty',
    on(async (disk) => {
      for (const name of ['c', 'a', 'b']) await write(disk, name, Buffer.alloc(1))
      await disk.makeDirectory('aa')
      expect(await disk.list('')).toEqual(['a', 'aa', 'b', 'c'])
      expect(await disk.list('aa')).toEqual([])
      expect(await disk.list('missing')).toEqual([])
      expect(await disk.list('missing/below')).toEqual([])
      expect(await refusal(disk.list('a'))).toBe('DISK_FAILED ENOTDIR')
    }),
  )

  test(
    'a directory is made once, below a parent, and removed only when empty',
    on(async (disk) => {
      await disk.makeDirectory('d')
      await write(disk, 'd/a', Buffer.alloc(1))
      await disk.makeDirectory('d')
      expect(await disk.list('d')).toEqual(['a'])
      expect(await refusal(disk.makeDirectory('no/parent'))).toBe('DISK_FAILED ENOENT')
      expect(await refusal(disk.removeDirectory('d'))).toBe('DISK_FAILED ENOTEMPTY')
      await disk.unlink('d/a')
      await disk.removeDirectory('d')
      expect(await disk.list('')).toEqual([])
    }),
  )

  test(
    'a rename replaces the file of the new name, in one directory and between two',
    on(async (disk) => {
      await disk.makeDirectory('d')
      await write(disk, 'a', Buffer.from('new'))
      await write(disk, 'b', Buffer.from('old'))
      await disk.rename('a', 'b')
      expect(await disk.list('')).toEqual(['b', 'd'])
      await disk.rename('b', 'd/c')
      await disk.syncDirectory('d')
      await disk.syncDirectory('')
      expect(await disk.list('')).toEqual(['d'])
      expect(await contentOf(disk, 'd/c')).toEqual(Buffer.from('new'))
    }),
  )
}
