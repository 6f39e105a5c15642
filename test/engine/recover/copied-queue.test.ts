/** A queue that was copied by something that leaves empty directories out: `rsync -m`, an archive
 * of files, an object store. */
import { readdir, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { fixedRetry } from '../../../src/policy/fixed-retry.js'
import { deferred, delivered, mail, real, submission, type Stage } from '../stage.js'

/** Removes what is empty, and what is empty by that. */
async function prune(directory: string): Promise<void> {
  const entries = await readdir(directory, { withFileTypes: true })
  for (const entry of entries) if (entry.isDirectory()) await prune(join(directory, entry.name))
  if ((await readdir(directory)).length === 0) await rmdir(directory)
}

async function leaveOutWhatIsEmpty(stage: Stage): Promise<void> {
  stage.queue.crash()
  await new Promise<void>((resolve) => setTimeout(resolve, 50))
  await prune(stage.directory)
}

const large = mail('y'.repeat(90).concat('\r\n').repeat(2000))

test('a queue whose empty directories were left out takes mail, small and large, and delivers what it has', async () => {
  await real(async (stage) => {
    const accepting = await stage.open({ deliver: false })
    await accepting.submit(submission('first@example.net'))
    await stage.until('it is at rest', () => accepting.stats().journal.checkpointCount > 0)
    await leaveOutWhatIsEmpty(stage)
    expect((await readdir(stage.directory)).filter((name) => ['lanes', 'spool'].includes(name))).toEqual([])
    stage.answer = (_, { attempts }) => (attempts === 0 ? deferred : delivered)
    const queue = await stage.open({ retry: fixedRetry([50]) })
    await queue.submit(submission('second@example.net', large))
    await stage.until('all are delivered', () => stage.told('delivered').length === 2)
    await stage.until('nothing is left', () => stage.isEmpty())
    await stage.until('its file is gone', async () => (await stage.spoolFiles()).length === 0)
    expect(stage.crashes).toEqual([undefined])
  })
})

test('a lane that has mail and no data of its own gets its directory of data again', async () => {
  await real(async (stage) => {
    stage.answer = () => deferred
    // It waits: a verb may miss what moves all the time.
    const queue = await stage.open({ retry: fixedRetry([3_600_000]) })
    const { id } = await queue.submit(submission('first@example.net', large))
    await stage.until('it is deferred', () => stage.told('deferred').length > 0)
    expect(await queue.hold({ id })).toMatchObject({ messageCount: 1 })
    // What was made ahead is taken away by the next start.
    await stage.open({ deliver: false })
    await leaveOutWhatIsEmpty(stage)
    expect(await readdir(join(stage.directory, 'lanes', '1'))).toEqual(['envelopes'])
    stage.answer = () => delivered
    await stage.open()
    expect(await stage.queue.release({ id })).toMatchObject({ messageCount: 1 })
    await stage.until('it is delivered', () => stage.told('delivered').length === 1)
    const held = await stage.queue.submit(submission('second@example.net'))
    await stage.queue.hold({ id: held.id })
    expect(stage.crashes).toEqual([undefined, undefined])
  })
})
