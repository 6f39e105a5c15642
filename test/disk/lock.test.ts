import { spawn, type ChildProcess } from 'node:child_process'
import fs from 'node:fs'
import { mkdtemp, open, readFile, rm, writeFile, type FileHandle } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { judgeFileSystem } from '../../src/disk/file-system.js'
import { flockByProgram, takeLock, whenReleased, type Lock } from '../../src/disk/lock.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { refusal } from './fixture.js'

let directory = ''
let path = ''

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'waybill-lock-'))
  path = join(directory, 'lock')
})
afterEach(() => rm(directory, { recursive: true, force: true }))

/** Another process that has the lock. */
async function holder(): Promise<ChildProcess> {
  const child = spawn('flock', ['-x', '-n', '-o', path, 'sh', '-c', 'echo locked; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await new Promise((resolve) => child.stdout?.once('data', resolve))
  return child
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGKILL')
  await ended
}

const release = ({ descriptors }: Lock): void => descriptors.forEach((descriptor) => fs.closeSync(descriptor))

async function takeAndRelease(byProgram: boolean): Promise<string> {
  const taking = byProgram ? takeLock(path, flockByProgram) : takeLock(path)
  const outcome = await refusal(taking)
  if (outcome === 'none') release(await taking)
  return outcome
}

for (const byProgram of [false, true]) {
  const how = byProgram ? 'flock(1)' : 'fs-ext'

  test(`${how}: a lock that another process holds is refused until that process dies, however it dies`, async () => {
    const other = await holder()
    expect(await takeAndRelease(byProgram)).toBe('QUEUE_LOCKED')
    await end(other)
    expect(await takeAndRelease(byProgram)).toBe('none')
  })

  test(`${how}: to remove the file gives no lock for it`, async () => {
    const lock = await (byProgram ? takeLock(path, flockByProgram) : takeLock(path))
    await rm(path)
    expect(await takeAndRelease(byProgram)).toBe('QUEUE_LOCKED')
    release(lock)
    expect(await takeAndRelease(byProgram)).toBe('none')
  })

  test(`${how}: a lock is ours until its descriptor is closed, against this process too`, async () => {
    const lock = await (byProgram ? takeLock(path, flockByProgram) : takeLock(path))
    expect(await takeAndRelease(true)).toBe('QUEUE_LOCKED')
    expect(await takeAndRelease(false)).toBe('QUEUE_LOCKED')
    release(lock)
    expect(await takeAndRelease(byProgram)).toBe('none')
  })
}

test('the next life in this process waits until the one before has released its lock', async () => {
  const lock = await takeLock(path)
  let tell = (): void => undefined
  whenReleased(lock, new Promise<void>((resolve) => (tell = resolve)))
  let outcome = 'waiting'
  const next = takeLock(path)
  void refusal(next).then((settled) => (outcome = settled))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(outcome).toBe('waiting')
  release(lock)
  tell()
  release(await next)
})

test('a refused process is told which one has the queue', async () => {
  const disk = nodeDisk(directory)
  await disk.lock('lock')
  expect((await readFile(path, 'latin1')).trim()).toBe(String(process.pid))
  await expect(nodeDisk(directory).lock('lock')).rejects.toThrow('this very process runs this queue')
  disk.abandon()
  // It waits for that.
  const last = await takeLock(path)
  release(last)
  whenReleased(last, Promise.resolve())

  const other = await holder()
  await writeFile(path, '4711\n')
  await expect(takeLock(path)).rejects.toThrow('process 4711 runs this queue')
  await end(other)
})

test('the lock says what is locked, and by what', async () => {
  const kindOf = async (taking: Promise<Lock>): Promise<string> => {
    const lock = await taking
    release(lock)
    return lock.kind
  }
  // The binary of fs-ext is that of one line of Node.
  expect(await kindOf(takeLock(path))).toMatch(
    /^flock of the file lock and a directory, by (fs-ext|the program)/,
  )
  expect(await kindOf(takeLock(path, flockByProgram))).toBe(
    'flock of the file lock and a directory, by the program flock of util-linux',
  )
})

test('without fs-ext and without flock(1) there is no lock, and the error says what to do', async () => {
  const file: FileHandle = await open(path, 'w+')
  const taking = flockByProgram(file.fd, join(directory, 'no-such-program'))
  await expect(taking).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' })
  await expect(taking).rejects.toThrow('npm rebuild fs-ext')
  await file.close()
})

test('where directories cannot be locked, the file is', async () => {
  const filesOnly = async (descriptor: number): Promise<boolean> => {
    if (fs.fstatSync(descriptor).isDirectory()) throw new Error('EBADF')
    return flockByProgram(descriptor)
  }
  const lock = await takeLock(path, filesOnly)
  expect(lock.kind).toMatch(/^flock of the file lock, /)
  expect(await refusal(takeLock(path, filesOnly))).toBe('QUEUE_LOCKED')
  release(lock)
})

test('network file systems are refused, doubtful ones named in a warning, others accepted', () => {
  for (const type of [0x6969, 0x517b, 0xff534d42, 0xfe534d42, -11317950]) {
    expect(() => judgeFileSystem(type, '/queue', 'linux')).toThrow('a queue needs a local disk')
  }
  for (const type of [0x65735546, 0x01021997, 0x01021994, 0x794c7630]) {
    expect(judgeFileSystem(type, '/queue', 'linux')).toHaveLength(1)
  }
  for (const type of [0xef53, 0x58465342, 0x9123683e, 0x2fc12fc1]) {
    expect(judgeFileSystem(type, '/queue', 'linux')).toEqual([])
  }
  expect(judgeFileSystem(0x6969, '/queue', 'darwin')).toEqual([])
})
