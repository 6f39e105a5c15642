/** Every command beside a queue that works at full rate, with segments recycled under its eyes: it
 * sees no damage, it disturbs nothing. What it costs in rate: `npm run bench inspect`. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Disk } from '../../src/disk/disk.js'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { cat } from '../../tools/commands/look/cat.js'
import { logAt } from '../../tools/commands/look/log-at.js'
import { logDump } from '../../tools/commands/look/log-dump.js'
import { logHistory } from '../../tools/commands/look/log-history.js'
import { logMap } from '../../tools/commands/look/log-map.js'
import { logStat } from '../../tools/commands/look/log-stat.js'
import { logTail } from '../../tools/commands/look/log-tail.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { qshape } from '../../tools/commands/look/qshape.js'
import { stat } from '../../tools/commands/look/stat.js'
import { command, type Commanded } from './commanded.js'

const durationMs = 4000
const roundsMin = 2

/** The disk itself, with a list of what was asked of it beyond reading. */
function watched(path: string, asked: string[]): Disk {
  const disk = nodeDisk(path)
  const told =
    <A extends unknown[], R>(verb: string, call: (...args: A) => R) =>
    (...args: A): R => {
      asked.push(`${verb} ${String(args[0])}`)
      return call(...args)
    }
  return {
    list: (directory) => disk.list(directory),
    open: (file, mode) => {
      if (mode !== 'read') asked.push(`open ${file} to ${mode}`)
      return disk.open(file, mode)
    },
    stat: (file) => disk.stat(file),
    space: () => disk.space(),
    abandon: () => disk.abandon(),
    makeDirectory: told('make', (name: string) => disk.makeDirectory(name)),
    removeDirectory: told('remove', (name: string) => disk.removeDirectory(name)),
    rename: told('rename', (from: string, to: string) => disk.rename(from, to)),
    unlink: told('unlink', (name: string) => disk.unlink(name)),
    syncDirectory: told('sync', (name: string) => disk.syncDirectory(name)),
    lock: told('lock', (name: string) => disk.lock(name)),
  }
}

interface Fate {
  readonly submitted: number
  readonly lost: number
  readonly twice: number
  readonly trouble: string
}

/** The busy queue in a separate process. */
class BusyQueue {
  readonly #child
  readonly #lines: string[] = []

  constructor(directory: string) {
    const path = fileURLToPath(new URL('busy-queue.mjs', import.meta.url))
    this.#child = spawn(process.execPath, [path, directory], { stdio: ['ignore', 'pipe', 'inherit'] })
    createInterface({ input: this.#child.stdout }).on('line', (line) => this.#lines.push(line))
  }

  get isWorking(): boolean {
    return this.#lines.length > 0
  }

  async end(): Promise<Fate> {
    const closed = once(this.#child, 'close')
    this.#child.kill('SIGTERM')
    await closed
    return JSON.parse(this.#lines.at(-1)!) as Fate
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

test('inspection beside a busy queue sees no damage, takes no lock, writes nothing, and no mail is lost or sent twice by it', async () => {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-busy-'))
  const busy = new BusyQueue(directory)
  try {
    await expect.poll(() => busy.isWorking).toBe(true)
    const asked: string[] = []
    const wrong: string[] = []
    const run = async (inspect: typeof mailq, ...args: string[]): Promise<Commanded> => {
      const said = await command(inspect, args, () => watched(directory, asked), Date.now())
      const isGone = /no message|nothing of|is not on disk/.test(said.stderr)
      if (said.exitCode !== 0 && !isGone)
        wrong.push(
          `${inspect.synopsis}: ${said.exitCode} ${said.stderr.slice(0, 500)} ${said.stdout.slice(-500)}`,
        )
      return said
    }
    let rounds = 0
    for (
      const startedAt = performance.now();
      rounds < roundsMin || performance.now() - startedAt < durationMs;
      rounds++
    ) {
      const { stdout } = await run(mailq, '--json')
      const [first] = stdout.split('\n', 1)
      const id = first === '' ? 'NONE' : (JSON.parse(first!) as { queue_id: string }).queue_id
      await run(cat, id)
      await run(qshape, 'incoming', 'active', 'deferred', 'hold')
      await run(stat)
      await run(logStat)
      const tail = await run(logTail, '--json', '-n', '50')
      await run(logAt, String((JSON.parse(tail.stdout.split('\n', 1)[0]!) as { position: number }).position))
      await run(logDump, '--log', 'all')
      await run(logHistory, id)
      await run(logMap, '-')
      expect(await run(logVerify)).toMatchObject({
        exitCode: 0,
        stdout: expect.stringMatching(/^sound$/m) as string,
      })
    }
    const fate = await busy.end()
    expect({ wrong, asked }).toEqual({ wrong: [], asked: [] })
    expect(fate).toMatchObject({ lost: 0, twice: 0, trouble: '' })
    expect(fate.submitted).toBeGreaterThan(1000)
    const afterwards = await command(logVerify, ['--queue', directory], nodeDisk, Date.now())
    expect(afterwards.stdout).toMatch(/^sound$/m)
  } finally {
    busy.kill()
    await rm(directory, { recursive: true, force: true })
  }
}, 120_000)
