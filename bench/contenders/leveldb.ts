/** classic-level: one batch for all that wait, `sync: true`. */
import { join } from 'node:path'
import { batching } from './batching.js'
import type { ContenderOptions, Store } from './contender.js'
import { heldDelivery, recordPayloads } from './payloads.js'
import { peer } from './peer.js'

type Operation =
  | { readonly type: 'put'; readonly key: string; readonly value: Buffer }
  | { readonly type: 'del'; readonly key: string }

interface Level {
  open(): Promise<void>
  batch(operations: readonly Operation[], options: { readonly sync: boolean }): Promise<void>
  close(): Promise<void>
}

type LevelModule = {
  readonly ClassicLevel: new (path: string, options: { readonly valueEncoding: 'buffer' }) => Level
}

export async function leveldb(options: ContenderOptions): Promise<Store> {
  const { ClassicLevel } = peer<LevelModule>('classic-level')
  const level = new ClassicLevel(join(options.directory, 'level'), { valueEncoding: 'buffer' })
  await level.open()
  const { data, envelope } = recordPayloads(options)
  const value = Buffer.concat([envelope, data])
  const keyOf = (id: number): string => String(id).padStart(12, '0')
  return batching(
    ({ begun, ended }) =>
      level.batch(
        [
          ...begun.map((id): Operation => ({ type: 'put', key: keyOf(id), value })),
          ...ended.map((id): Operation => ({ type: 'del', key: keyOf(id) })),
        ],
        { sync: true },
      ),
    () => level.close(),
    heldDelivery(options),
  )
}
