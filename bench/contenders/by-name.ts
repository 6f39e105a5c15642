/** All contenders by name; a process runs one of them. */
import type { Contender, ContenderOptions, Store } from './contender.js'
import { produced } from './produced.js'

export type ContenderName = 'bare' | 'rawlog' | 'engine' | 'accept' | 'files' | 'sqlite' | 'lmdb' | 'leveldb'

type Open = (options: ContenderOptions) => Promise<Contender>

const store =
  (open: (options: ContenderOptions) => Promise<Store>): Open =>
  async (options) =>
    produced(await open(options), options.directory)

export const contenders: Readonly<Record<ContenderName, Open>> = {
  bare: async (options) => (await import('./bare.js')).bare(options),
  rawlog: store(async (options) => (await import('./rawlog.js')).rawlog(options)),
  engine: store(async (options) => {
    const { engine, realEngine } = await import('./engine.js')
    return options.workload === 'R' ? realEngine(options) : engine(options)
  }),
  accept: store(async (options) => (await import('./engine.js')).accept(options)),
  files: store(async (options) => (await import('./files.js')).files(options)),
  sqlite: store(async (options) => (await import('./sqlite.js')).sqlite(options)),
  lmdb: store(async (options) => (await import('./lmdb.js')).lmdb(options)),
  leveldb: store(async (options) => (await import('./leveldb.js')).leveldb(options)),
}
