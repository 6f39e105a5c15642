/** One file per message, as in most mail queues.
 * It is written, synced, renamed into place, and the directory is synced. After the delivery its
 * outcome is appended and synced, and it is unlinked. Waiting messages share directory syncs. */
import fs from 'node:fs/promises'
import { join } from 'node:path'
import type { ContenderOptions, Store } from './contender.js'
import { recordPayloads } from './payloads.js'

export async function files(options: ContenderOptions): Promise<Store> {
  const { data, envelope, delivery } = recordPayloads(options)
  const directory = join(options.directory, 'messages')
  await fs.mkdir(directory)
  const handle = await fs.open(directory, 'r')
  let number = 0
  let syncCount = 0
  let lives = 0
  let whenIdle: (() => void) | undefined
  let running: Promise<void> | undefined
  let next: Promise<void> | undefined

  const sync = (): Promise<void> => {
    syncCount++
    return handle.sync()
  }
  /** A sync that starts after this call: the one under way proves nothing. */
  const syncDirectory = (): Promise<void> => {
    if (running === undefined) {
      running = sync().finally(() => (running = undefined))
      return running
    }
    next ??= running.then(() => {
      next = undefined
      return syncDirectory()
    })
    return next
  }
  const end = async (path: string): Promise<void> => {
    const file = await fs.open(path, 'a')
    await file.write(delivery)
    await file.datasync()
    syncCount++
    await file.close()
    await fs.unlink(path)
    await syncDirectory()
    lives--
    if (lives === 0) whenIdle?.()
  }
  return {
    submit: async () => {
      lives++
      const name = String(number++)
      const temporary = join(directory, `${name}.new`)
      const path = join(directory, name)
      const file = await fs.open(temporary, 'wx', 0o600)
      await file.writev([envelope, data])
      await file.datasync()
      syncCount++
      await file.close()
      await fs.rename(temporary, path)
      await syncDirectory()
      void end(path)
    },
    drained: () => (lives === 0 ? Promise.resolve() : new Promise((resolve) => (whenIdle = resolve))),
    syncs: () => ({ syncCount, writtenBytes: 0 }),
    close: () => handle.close(),
  }
}
