/** Mail from smtp-source through a relay to smtp-sink, both from the Postfix project and the same
 * for all relays.
 * Invariant: a message counts when the sink has read its final dot. */
import { execFile } from 'node:child_process'
import { closeSync, existsSync, fstatSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { treeUsage } from '../process-tree.js'
import { freePort, greeted } from './free-port.js'
import type { Relay } from './relay.js'
import { started, type StartedProcess } from './started.js'

const programs = ['/usr/sbin/smtp-source', '/usr/sbin/smtp-sink']
/** How often the sink is asked, milliseconds. */
const lookMs = 5
/** Milliseconds without a delivery after which mail counts as lost. */
const stillMsMax = 30_000
/** Work after the last delivery counts, too, for these milliseconds. */
const afterwardsMs = 300

export function flowMissing(): string | undefined {
  const missing = programs.find((path) => !existsSync(path))
  return missing === undefined ? undefined : `${missing} is not there (Debian: postfix)`
}

export interface Load {
  readonly messageBytes: number
  readonly sessionCount: number
  /** Whether the source sends all over the connections that it has, or each message over a new
   * one. */
  readonly isReused: boolean
}

export interface FlowSlice {
  readonly messageCount: number
  /** From the start of the source until the sink had all, milliseconds. */
  readonly durationMs: number
  readonly cpuMs: number
  /** Of the first thread of its first process. */
  readonly firstThreadCpuMs: number
  readonly rssBytes: number
}

/** Messages a second. */
export const rateOf = ({ messageCount, durationMs }: FlowSlice): number => (messageCount / durationMs) * 1000
/** Microseconds of a processor for a message. */
export const cpuOf = ({ messageCount, cpuMs }: FlowSlice): number => (cpuMs * 1000) / messageCount

export class Sink {
  readonly port: number
  readonly #directory: string
  readonly #counters: number
  readonly #program: StartedProcess

  private constructor(port: number, directory: string, program: StartedProcess) {
    this.port = port
    this.#directory = directory
    this.#counters = openSync(join(directory, 'counters'), 'r')
    this.#program = program
  }

  /** Its counters go to memory, so that they cost no disk that is measured. */
  static async start(): Promise<Sink> {
    const directory = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'waybill-sink-'))
    const port = await freePort()
    const program = await started(
      programs[1]!,
      [
        ...(process.getuid?.() === 0 ? ['-u', 'nobody'] : []),
        '-c',
        '-m',
        '2000',
        `127.0.0.1:${port}`,
        '4096',
      ],
      join(directory, 'counters'),
    )
    await greeted(port)
    return new Sink(port, directory, program)
  }

  /** Messages since it was started. */
  get messageCount(): number {
    const { size } = fstatSync(this.#counters)
    const bytes = Buffer.alloc(Math.min(size, 200))
    readSync(this.#counters, bytes, 0, bytes.length, size - bytes.length)
    return Number(/^[^]*mesg=\s*(\d+)\r/.exec(bytes.toString('latin1'))?.[1] ?? 0)
  }

  async stop(): Promise<void> {
    await this.#program.stop()
    closeSync(this.#counters)
    rmSync(this.#directory, { recursive: true })
  }
}

/** Sends so many messages with smtp-source; settles when all were taken. */
export async function source(port: number, load: Load, messageCount: number): Promise<void> {
  const counts = `-s ${load.sessionCount} -m ${messageCount} -l ${load.messageBytes}`
  const addresses = '-f sender@example.org -t recipient@example.net'
  await promisify(execFile)(programs[0]!, [
    ...(load.isReused ? ['-d'] : []),
    ...`${counts} ${addresses} 127.0.0.1:${port}`.split(' '),
  ])
}

/** One turn of a relay.
 * @param stillMs how long nothing may arrive
 * @throws Error when messages do not arrive, or more than were sent */
export async function flow(
  relay: Relay,
  sink: Sink,
  load: Load,
  messageCount: number,
  stillMs: number = stillMsMax,
): Promise<FlowSlice> {
  const due = sink.messageCount + messageCount
  const before = treeUsage(relay.processId)
  const startedAt = performance.now()
  let failure: unknown
  const sent = source(relay.port, load, messageCount).catch((error: unknown) => {
    failure = error
  })
  let seen = sink.messageCount
  for (let stillSince = performance.now(); seen < due;) {
    await new Promise((resolve) => setTimeout(resolve, lookMs))
    const now = sink.messageCount
    if (now > seen) stillSince = performance.now()
    seen = now
    const isStill = performance.now() - stillSince > stillMs
    if (isStill || failure !== undefined)
      throw new Error(`${relay.name}: ${due - seen} of ${messageCount} messages do not arrive`, {
        cause: failure,
      })
  }
  const durationMs = performance.now() - startedAt
  await sent
  await new Promise((resolve) => setTimeout(resolve, afterwardsMs))
  if (sink.messageCount > due) throw new Error(`${relay.name} delivered a message twice`)
  const { cpuMs, firstThreadCpuMs, rssBytes } = treeUsage(relay.processId)
  return {
    messageCount,
    durationMs,
    cpuMs: cpuMs - before.cpuMs,
    firstThreadCpuMs: firstThreadCpuMs - before.firstThreadCpuMs,
    rssBytes,
  }
}
