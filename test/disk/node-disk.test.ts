import fs from 'node:fs'
import {
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Answer } from '../../src/disk/calls.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { diskContract } from './contract.js'
import { runProgram } from '../tools/command-process.js'
import { contentOf, refusal, write } from './fixture.js'

diskContract("Node's disk", async () => {
  const parent = await mkdtemp(join(tmpdir(), 'waybill-disk-'))
  const root = join(parent, 'queue')
  const disk = nodeDisk(root)
  return {
    disk,
    reopen: () => nodeDisk(root),
    settle: (promise) => promise,
    remove: () => {
      disk.abandon()
      return rm(parent, { recursive: true, force: true })
    },
  }
})

let root = ''
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'waybill-node-disk-'))
})
afterEach(() => rm(root, { recursive: true, force: true }))

/** Names of the files below `root` that this process has open. */
async function openFiles(): Promise<string[]> {
  const descriptors = await readdir('/proc/self/fd')
  const targets = await Promise.all(descriptors.map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => '')))
  return targets.filter((target) => target.startsWith(root)).map((target) => target.slice(root.length + 1))
}

test('an error names the path, the operation and the code of the system', async () => {
  await expect(nodeDisk(root).open('nothing', 'read')).rejects.toMatchObject({
    code: 'DISK_FAILED',
    place: { directory: root, path: 'nothing', operation: 'open', errno: 'ENOENT' },
  })
})

test('a pipe in the place of a file is opened at once, and its first read is refused', async () => {
  await runProgram('mkfifo', [join(root, 'pipe')], { directory: root })
  const disk = nodeDisk(root)
  const file = await disk.open('pipe', 'read')
  await expect(file.read(Buffer.alloc(1), 0)).rejects.toMatchObject({
    code: 'DISK_FAILED',
    place: { path: 'pipe', operation: 'read', errno: 'ESPIPE' },
  })
  disk.abandon()
})

test('a directory that cannot be made because a file has its name is told as that', async () => {
  await writeFile(join(root, 'queue'), '')
  await expect(nodeDisk(join(root, 'queue')).makeDirectory('')).rejects.toThrow(
    /^something else has this name/,
  )
})

test('the name of a directory that is there and empty is made durable: a start that made it may have been killed before', async () => {
  const opened = vi.spyOn(fs, 'open')
  const syncsOfParent = (): number => opened.mock.calls.filter(([path]) => path === root).length
  try {
    await mkdir(join(root, 'queue'))
    await nodeDisk(join(root, 'queue')).makeDirectory('')
    expect(syncsOfParent()).toBe(1)
    await writeFile(join(root, 'queue', 'lock'), '')
    await nodeDisk(join(root, 'queue')).makeDirectory('')
    expect(syncsOfParent()).toBe(1)
  } finally {
    opened.mockRestore()
  }
})

test('behind a link both names are made durable, that of the link and that of the directory', async () => {
  await mkdir(join(root, 'elsewhere/queue'), { recursive: true })
  await mkdir(join(root, 'here'))
  await symlink(join(root, 'elsewhere/queue'), join(root, 'here/link'))
  const opened = vi.spyOn(fs, 'open')
  try {
    await nodeDisk(join(root, 'here/link')).makeDirectory('')
    const synced = await Promise.all(opened.mock.calls.map(([path]) => realpath(String(path))))
    expect(synced).toEqual([join(root, 'here'), join(root, 'elsewhere')])
  } finally {
    opened.mockRestore()
  }
})

test('a write that the device has no room for is DISK_FULL, to a synced file DISK_FAILED', async () => {
  const device = nodeDisk('/dev')
  const full = await device.open('full', 'write')
  expect(await refusal(full.write(Buffer.alloc(1), 0))).toBe('DISK_FULL ENOSPC')
  const synced = await device.open('full', 'synced')
  expect(await refusal(synced.write(Buffer.alloc(1), 0))).toBe('DISK_FAILED ENOSPC')
  device.abandon()
})

test('a write that is short again goes on as long as there is room, and says what the system says', async () => {
  const disk = nodeDisk(root)
  const file = await disk.open('a', 'create')
  await disk.open('b', 'create')
  const synced = await disk.open('b', 'synced')
  // A full disk on which others make room and take it.
  const written = vi.spyOn(fs, 'write').mockImplementation(((...call: unknown[]): void => {
    const [, , from, , , answer] = call as [number, Buffer, number, number, number, Answer<number>]
    if (from < 6) answer(null, 2)
    else answer(Object.assign(new Error('ENOSPC'), { code: 'ENOSPC', errno: -28 }))
  }) as never)
  try {
    await file.write(Buffer.alloc(6), 0)
    expect(await refusal(file.write(Buffer.alloc(8), 0))).toBe('DISK_FULL ENOSPC')
    expect(await refusal(synced.write(Buffer.alloc(4), 0))).toBe('DISK_FAILED')
  } finally {
    written.mockRestore()
  }
  disk.abandon()
})

test('what is longer than Node can read or write at once is read and written in two calls', async () => {
  const disk = nodeDisk(root)
  const file = await disk.open('a', 'create')
  const calls: (readonly [from: number, bytes: number])[] = []
  // Without two gigabytes: a length is all that is looked at.
  const long = { length: 2 ** 31 } as Buffer
  const all = (...call: unknown[]): void => {
    const [, , from, bytes, , answer] = call as [number, Buffer, number, number, number, Answer<number>]
    calls.push([from, bytes])
    answer(null, bytes)
  }
  const read = vi.spyOn(fs, 'read').mockImplementation(all as never)
  const written = vi.spyOn(fs, 'write').mockImplementation(all as never)
  try {
    expect(await file.read(long, 0)).toBe(2 ** 31)
    await file.write(long, 0)
  } finally {
    read.mockRestore()
    written.mockRestore()
  }
  const twice = [
    [0, 2 ** 31 - 1],
    [2 ** 31 - 1, 1],
  ]
  expect(calls).toEqual([...twice, ...twice])
  disk.abandon()
})

test('nobody else can read what is created', async () => {
  const disk = nodeDisk(join(root, 'queue'))
  await disk.makeDirectory('')
  await write(disk, 'a', Buffer.from('mail'))
  expect((await stat(join(root, 'queue'))).mode & 0o777).toBe(0o700)
  expect((await stat(join(root, 'queue/a'))).mode & 0o777).toBe(0o600)
})

test('a synced file is open with O_DSYNC', async () => {
  const disk = nodeDisk(root)
  await write(disk, 'a', Buffer.alloc(1))
  await disk.open('a', 'synced')
  const flagsOf = async (fd: string): Promise<number> => {
    const info = await readFile(`/proc/self/fdinfo/${fd}`, 'latin1').catch(() => '')
    return Number.parseInt(/flags:\s*(\d+)/.exec(info)?.[1] ?? '0', 8)
  }
  const descriptors = await readdir('/proc/self/fd')
  const ours: string[] = []
  for (const fd of descriptors) {
    if ((await readlink(`/proc/self/fd/${fd}`).catch(() => '')) === join(root, 'a')) ours.push(fd)
  }
  expect(ours).toHaveLength(1)
  expect((await flagsOf(ours[0] ?? '')) & 0o10000).toBe(0o10000)
  disk.abandon()
})

test('abandoning closes every descriptor once nothing is under way, the lock last', async () => {
  const disk = nodeDisk(root)
  await disk.lock('lock')
  const file = await disk.open('a', 'create')
  // The root twice: it is locked, and names are resolved below it.
  expect((await openFiles()).sort()).toEqual(['', '', 'a', 'lock'])
  const writes = Array.from({ length: 8 }, (_, at) => file.write(Buffer.alloc(1_000_000, 1), at * 1_000_000))
  const opening = disk.open('b', 'create')
  const outcomes = Promise.all([...writes, opening].map(refusal))
  disk.abandon()
  expect(new Set(await outcomes)).toEqual(new Set(['QUEUE_CRASHED']))
  const next = nodeDisk(root)
  await next.lock('lock')
  expect((await openFiles()).sort()).toEqual(['', '', 'lock'])
  expect(await contentOf(next, 'a')).toHaveLength(8_000_000)
  next.abandon()
})

test('close and syncDirectory leave no descriptor behind, failed or not', async () => {
  const disk = nodeDisk(root)
  await write(disk, 'a', Buffer.alloc(1))
  await disk.syncDirectory('')
  expect(await refusal(disk.syncDirectory('a'))).toBe('DISK_FAILED ENOTDIR')
  expect(await openFiles()).toEqual([])
})

test('a call that finds no descriptor says so, and has done nothing', async () => {
  const program = fileURLToPath(new URL('few-descriptors.mjs', import.meta.url))
  const words = ['-c', 'ulimit -n 64 && exec "$0" "$@"', process.execPath, program, root]
  const { stdout } = await runProgram('/bin/sh', words, { directory: root })
  expect(JSON.parse(stdout)).toEqual({
    answers: ['open EMFILE', 'list EMFILE', 'open EMFILE', 'lock EMFILE'],
    names: [],
  })
})

test('a root that cannot be listed or synced is named, too', async () => {
  await write(nodeDisk(root), 'a', Buffer.alloc(1))
  const path = join(root, 'a')
  const disk = nodeDisk(path)
  await expect(disk.list('')).rejects.toMatchObject({ place: { path } })
  await expect(disk.syncDirectory('')).rejects.toMatchObject({ place: { path } })
})

test('a root that cannot be made is named, with what an operator would say', async () => {
  const path = join(root, 'no', 'queue')
  await expect(nodeDisk(path).makeDirectory('')).rejects.toMatchObject({
    code: 'DISK_FAILED',
    message: `there is no such file or directory (path ${path}, operation makeDirectory, errno ENOENT)`,
  })
})
