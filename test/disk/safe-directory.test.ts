/** A queue's directory as an enemy, or a mistake, may have left it. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { chmod, mkdir, readdir, readFile, rename, rm, symlink, unlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { checkQueueDirectory } from '../../src/disk/safe-directory.js'
import { openQueue, type Queue } from '../../src/index.js'

function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-safe-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

const opened = (directory: string, lockWaitMs = 0): Promise<Queue> =>
  openQueue(directory, {
    lockWaitMs,
    transports: {},
    route: () => ({ transport: 'none', nexthop: 'none' }),
    deliver: false,
    segmentBytes: 1 << 20,
    laneSegmentBytes: 1 << 20,
  })

async function laidQueue(): Promise<{ root: string; queue: string }> {
  const root = temporaryDirectory()
  const queue = join(root, 'queue')
  const made = await opened(queue)
  await made.submit({ sender: 'a@b.example', recipients: ['c@d.example'], data: 'Subject: x\r\n\r\n' })
  made.crash()
  return { root, queue }
}

test.each(['lock', 'queue.json'])(
  'a symbolic link in the place of %s is refused, and what it leads to is not touched',
  async (name) => {
    const { root, queue } = await laidQueue()
    await rename(join(queue, name), join(root, 'elsewhere'))
    await symlink(join(root, 'elsewhere'), join(queue, name))
    await writeFile(join(root, 'elsewhere'), 'a text of its own')
    await expect(opened(queue)).rejects.toMatchObject({
      code: 'NOT_A_QUEUE',
      message: expect.stringContaining(`${name} is a symbolic link`) as string,
    })
    expect(await readFile(join(root, 'elsewhere'), 'utf8')).toBe('a text of its own')
  },
)

test('a pipe in the place of the lock is refused, and nobody waits for it', async () => {
  const { queue } = await laidQueue()
  await unlink(join(queue, 'lock'))
  execFileSync('mkfifo', [join(queue, 'lock')])
  await expect(opened(queue)).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
})

test('a segment that is a link is refused', async () => {
  const { root, queue } = await laidQueue()
  const names = await readdir(join(queue, 'journal'))
  const segment = join(
    queue,
    'journal',
    names.find((name) => name.endsWith('.log'))!,
  )
  await rename(segment, join(root, 'segment'))
  await symlink(join(root, 'segment'), segment)
  await expect(opened(queue)).rejects.toMatchObject({ code: 'DISK_FAILED', place: { errno: 'ELOOP' } })
})

test('a directory that others may write to is warned of, one with a sticky bit is not', async () => {
  const { queue } = await laidQueue()
  expect(await checkQueueDirectory(queue)).toEqual([])
  await chmod(queue, 0o777)
  expect(await checkQueueDirectory(queue)).toEqual([
    expect.stringContaining('other users may write to') as string,
  ])
  await chmod(queue, 0o1777)
  expect(await checkQueueDirectory(queue)).toEqual([])
})

test('a user that may only read the directory cannot keep a relay from starting', async () => {
  const { queue } = await laidQueue()
  await chmod(queue, 0o755)
  const stranger = spawn('flock', ['-x', queue, 'sh', '-c', 'echo held; exec sleep 60'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  await once(stranger.stdout, 'data')
  const queueOfOurs = await opened(queue)
  await expect(opened(queue)).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  queueOfOurs.crash()
})

test('a lock file that an operator removes lets no second owner in', async () => {
  const { queue } = await laidQueue()
  await chmod(queue, 0o755)
  const first = await opened(queue)
  await rm(join(queue, 'lock'))
  await expect(opened(queue)).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  first.crash()
})

test('a queue that another process has open is waited for, as long as it is said', async () => {
  const { queue } = await laidQueue()
  const first = await opened(queue)
  await expect(opened(queue, 1)).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  const next = opened(queue, 60_000)
  let isOpen = false
  void next.then(() => (isOpen = true))
  await expect(opened(queue, 150)).rejects.toMatchObject({ code: 'QUEUE_LOCKED' })
  expect(isOpen).toBe(false)
  first.crash()
  const second = await next
  second.crash()
})

const isRoot = process.getuid?.() === 0

/** An empty directory. @param owner as chown(1) names it */
async function ownedBy(owner: string): Promise<string> {
  const root = temporaryDirectory()
  const queue = join(root, 'queue')
  await mkdir(queue)
  await chmod(root, 0o755)
  execFileSync('chown', [owner, queue])
  return queue
}

test.skipIf(!isRoot)(
  "what root makes in another user's queue is that user's, which opens it after that",
  async () => {
    const queue = await ownedBy('65534:65534')
    const submission = { sender: 'a@b.example', recipients: ['c@d.example'] }
    const ofRoot = await opened(queue)
    await ofRoot.submit({ ...submission, data: 'Subject: x\r\n\r\n' })
    await ofRoot.submit({ ...submission, data: `Subject: x\r\n\r\n${'text\r\n'.repeat(50_000)}` })
    ofRoot.crash()
    const again = await opened(queue, 5000)
    again.crash()
    const names = await readdir(queue, { recursive: true })
    expect(names.filter((name) => /spool.+/.test(name))).toHaveLength(1)
    expect(names.filter((name) => statSync(join(queue, name)).uid !== 65_534)).toEqual([])
    process.setegid!(65_534)
    process.seteuid!(65_534)
    try {
      const ofUser = await opened(queue, 5000)
      await ofUser.submit({ ...submission, data: 'Subject: y\r\n\r\n' })
      ofUser.crash()
    } finally {
      process.seteuid!(0)
      process.setegid!(0)
    }
  },
)

test.skipIf(!isRoot)(
  'a file of root that another user has put in the place of the lock is not given away',
  async () => {
    const queue = await ownedBy('65534:65534')
    await writeFile(join(queue, 'lock'), 'a secret that is longer than a pid')
    const ofRoot = await opened(queue)
    ofRoot.crash()
    expect(statSync(join(queue, 'lock')).uid).toBe(0)
  },
)

test.skipIf(!isRoot)('a directory of another user is refused to a user, and warned of to root', async () => {
  const queue = await ownedBy('1')
  expect(await checkQueueDirectory(queue)).toEqual([
    expect.stringContaining('belongs to another user') as string,
  ])
  process.seteuid!(65_534)
  try {
    await expect(checkQueueDirectory(queue)).rejects.toMatchObject({ code: 'NOT_A_QUEUE' })
  } finally {
    process.seteuid!(0)
  }
})
