/** A session with a simulated server: each question of the port, as a change or as a look. */
import {
  done,
  type Answer,
  type Claimant,
  type Content,
  type Extent,
  type Fence,
  type FileRow,
  type FoundFile,
  type Part,
  type QueueRow,
  type SafetyFacts,
  type Session,
  type Standing,
  type Write,
} from '../../store/store.js'
import type { Database } from './database.js'
import type { Lock } from './sim-server.js'
import type { Line } from './sim-store.js'

const safe: SafetyFacts = {
  versionNumber: 150_000,
  settings: {
    fsync: 'on',
    full_page_writes: 'on',
    synchronous_commit: 'on',
    synchronous_standby_names: 'ANY 1 (n1, n2, n3)',
  },
  standbyCount: 2,
  subscribers: [],
}

export class SimSession implements Session {
  readonly timeline: number
  readonly #line: Line

  constructor(line: Line, timeline: number) {
    this.#line = line
    this.timeline = timeline
  }

  queueNamed(name: string): Promise<Answer<QueueRow | undefined>> {
    return this.#look((database) => {
      const entry = [...database.queues.values()].find(({ row }) => row.name === name)
      return done(entry && { ...entry.row, home: entry.home })
    })
  }

  queues(): Promise<Answer<readonly QueueRow[]>> {
    return this.#look((database) =>
      done(Array.from(database.queues.values(), ({ row, home }) => ({ ...row, home }))),
    )
  }

  standing(queue: number): Promise<Answer<Standing>> {
    return this.#look((database) => {
      const { fences, beat } = database.queue(queue)
      const { nonce } = fences[0]
      const isConnected = nonce !== undefined && (this.#line.server.connected.get(nonce) ?? 0) > 0
      return done({ ...fences[0], address: undefined, beat, isConnected })
    })
  }

  present(): Promise<Answer<void>> {
    return this.#change({ kind: 'free' }, () => done(undefined))
  }

  expel(): Promise<Answer<void>> {
    return this.#look(() => done(undefined))
  }

  claim(fence: Fence, claimant: Claimant, isHome: boolean): Promise<Answer<number>> {
    const lock: Lock = { kind: 'alone', queue: fence.queue, nonce: claimant.nonce }
    return this.#change(lock, (database) => database.claim(fence, claimant, isHome))
  }

  resume(queue: number, nonce: string): Promise<Answer<number>> {
    return this.#change({ kind: 'alone', queue, nonce }, (database) => database.resume(queue, nonce))
  }

  beat(queue: number, nonce: string): Promise<Answer<void>> {
    return this.#change({ kind: 'free' }, (database) => database.beat(queue, nonce))
  }

  write(fence: Fence, part: Part, writes: readonly Write[]): Promise<Answer<readonly number[]>> {
    const kept = writes.map(copied)
    return this.#change({ kind: 'shared', part, ...fence }, (database) => database.write(fence.queue, kept))
  }

  holds(queue: number, { file }: FileRow, { at, upto }: Extent): Promise<Answer<boolean>> {
    return this.#look((database) => {
      const extents = database.queue(queue).files.get(file)?.extents ?? []
      return done(extents.some((extent) => extent.at === at && extent.upto === upto))
    })
  }

  lastChange(queue: number): Promise<Answer<number>> {
    return this.#look((database) => done(database.queue(queue).lastChange))
  }

  read(queue: number, { file }: FileRow, from: number, upto: number): Promise<Answer<Content>> {
    return this.#look((database) => database.read(queue, file, from, upto))
  }

  list(queue: number, directory: string): Promise<Answer<string[]>> {
    return this.#look((database) => database.list(queue, directory))
  }

  find(queue: number, path: string): Promise<Answer<FoundFile | undefined>> {
    return this.#look((database) => done(database.find(queue, path)))
  }

  usedBytes(): Promise<Answer<number>> {
    return this.#look(() => done(0))
  }

  reap(fence: Fence, open: readonly number[]): Promise<Answer<number>> {
    return this.#change({ kind: 'shared', part: 1, ...fence }, (database) => database.reap(fence.queue, open))
  }

  safety(): Promise<Answer<SafetyFacts>> {
    return this.#look(() => done(safe))
  }

  close(): void {
    this.#line.close()
  }

  #change<T>(lock: Lock, apply: (database: Database) => Answer<T>): Promise<Answer<T>> {
    return this.#line.change(lock, apply) as Promise<Answer<T>>
  }

  #look<T>(look: (database: Database) => Answer<T>): Promise<Answer<T>> {
    const { server } = this.#line
    return this.#line.ask((reply) => reply(look(server.visible))) as Promise<Answer<T>>
  }
}

/** The driver may use its buffer again when it has given up; the question is on its way still. */
function copied(write: Write): Write {
  if (!('extents' in write)) return write
  return {
    ...write,
    extents: write.extents.map((extent) => ({ ...extent, bytes: Buffer.from(extent.bytes) })),
  }
}
