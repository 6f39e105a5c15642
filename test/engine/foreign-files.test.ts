/** Files of other programs below a queue's directory: they stay, and change nothing. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openQueue } from '../../src/queue.js'
import { fixedRetry } from '../../src/policy/fixed-retry.js'
import { postfixRetry } from '../../src/policy/postfix-retry.js'
import { codeOf, real, submission, type Stage } from './stage.js'

const files = ['.DS_Store', 'Thumbs.db', '007', 'notes.txt~', '.nfs00000000012345']
const directories = ['lost+found', '.snapshot']

/** Leaves other programs' names in every directory of the queue. */
async function litter(root: string): Promise<void> {
  const found = await readdir(root, { withFileTypes: true, recursive: true })
  const all = found.filter((entry) => entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name))
  for (const directory of [root, ...all]) {
    for (const name of files) await writeFile(join(directory, name), 'not ours')
    for (const name of directories) await mkdir(join(directory, name), { recursive: true })
  }
}

const deferred = { kind: 'deferred', status: '4.2.2', reason: 'full' } as const

async function leaveDeferred(stage: Stage): Promise<void> {
  stage.answer = () => deferred
  const queue = await stage.open({ retry: postfixRetry() })
  await queue.submit(submission())
  await stage.until('it waits in its lane', async () => {
    for await (const { where } of queue.list()) return where === 'retry'
    return false
  })
  await stopped(stage)
}

async function stopped(stage: Stage): Promise<void> {
  stage.queue.crash()
  await new Promise<void>((resolve) => stage.clock.after(30, resolve))
}

test('mail outlives files of other programs in every directory, and they stay', async () => {
  await real(async (stage) => {
    await leaveDeferred(stage)
    await litter(stage.directory)
    await stage.open({ retry: postfixRetry() })
    expect(await stage.ids()).toHaveLength(1)
    expect(await readdir(join(stage.directory, 'lanes'))).toContain('007')
    await stopped(stage)
  })
})

test('lanes that no policy names are retired, though other files stay in their directories', async () => {
  await real(async (stage) => {
    await leaveDeferred(stage)
    await litter(stage.directory)
    await stage.open({ retry: fixedRetry([60_000]) })
    await stage.until('the lanes that are empty are gone', () => stage.queue.stats().lanes.length === 4)
    await stopped(stage)
    await stage.open({ retry: fixedRetry([60_000]) })
    expect(stage.queue.stats().lanes.length).toBe(4)
    expect(await readdir(join(stage.directory, 'lanes', '3'))).toContain('.DS_Store')
  })
})

test('a directory with files that a system leaves becomes a queue; one with a file of a user does not', async () => {
  await real(async (stage) => {
    const options = { transports: {}, route: () => ({ transport: '', nexthop: '' }) }
    await mkdir(stage.directory)
    await writeFile(join(stage.directory, '.DS_Store'), '')
    await mkdir(join(stage.directory, 'lost+found'))
    await writeFile(join(stage.directory, 'letter.txt'), '')
    expect(await codeOf(openQueue(stage.directory, options))).toBe('NOT_A_QUEUE')
    await rm(join(stage.directory, 'letter.txt'))
    const queue = await openQueue(stage.directory, options)
    queue.crash()
  })
})

test('a queue that was never used is made again around the files of other programs', async () => {
  await real(async (stage) => {
    for (const name of ['journal', 'lanes', 'spool'])
      await mkdir(join(stage.directory, name), { recursive: true })
    for (const name of ['journal', 'lanes', 'spool'])
      await writeFile(join(stage.directory, name, '.DS_Store'), '')
    await stage.open()
    expect(await codeOf(stage.queue.submit(submission()))).toBe('accepted')
  })
})
