/** Directories of a queue that are gone, or in whose place something else lies: each command tells
 * of it and shows the rest. */
import { expect, test } from 'vitest'
import { diskFailure } from '../../src/disk/failure.js'
import type { InspectCommand } from '../../tools/commands/look/inspection.js'
import { logDump } from '../../tools/commands/look/log-dump.js'
import { logHistory } from '../../tools/commands/look/log-history.js'
import { logStat } from '../../tools/commands/look/log-stat.js'
import { logVerify } from '../../tools/commands/look/log-verify.js'
import { mailq } from '../../tools/commands/look/mailq.js'
import { stat } from '../../tools/commands/look/stat.js'
import { command, type Commanded } from './commanded.js'
import { frozenQueue } from './frozen-queue.js'
import { MemoryDisk } from './memory-disk.js'

const sound = frozenQueue()
const isBelow = (path: string, lost: string): boolean => path === lost || path.startsWith(`${lost}/`)

/** The queue without a directory. @param isFile there is a file of its name */
function without(lost: string, isFile: boolean): MemoryDisk {
  const files = new Map([...sound.files].filter(([path]) => !isBelow(path, lost)))
  if (isFile) files.set(lost, Buffer.from('x'))
  const disk = new MemoryDisk(
    files,
    sound.directories.filter((path) => !isBelow(path, lost)),
  )
  const list = disk.list.bind(disk)
  disk.list = (path) =>
    isFile && isBelow(path, lost) ? Promise.reject(diskFailure('list', path, 'ENOTDIR')) : list(path)
  return disk
}

const said = (inspect: InspectCommand, args: readonly string[], disk: MemoryDisk): Promise<Commanded> =>
  command(inspect, args, () => disk, sound.nowMs)

const calls: readonly (readonly [InspectCommand, readonly string[]])[] = [
  [mailq, []],
  [stat, []],
  [logVerify, []],
  [logStat, ['--quick']],
  [logStat, []],
  [logHistory, ['1KE70EPC8VP3VPKG']],
  [logDump, ['--log', 'all']],
]

test.each(['lanes', 'lanes/3', 'lanes/3/envelopes'])(
  'where %s is missing, every command says so',
  async (lost) => {
    for (const [inspect, args] of calls) {
      const { exitCode, stdout, stderr } = await said(inspect, args, without(lost, false))
      expect([inspect.synopsis, exitCode]).toEqual([inspect.synopsis, 1])
      expect(`${stdout}${stderr}`).toContain('damage: lane 3 envelopes, segment 0, offset ')
    }
  },
)

test.each(['journal', 'lanes', 'lanes/3', 'lanes/3/data', 'spool'])(
  'a file that lies where %s should be is told of by its name, and the rest is shown',
  async (lost) => {
    const damaged = without(lost, true)
    const { exitCode, stdout } = await said(mailq, [], damaged)
    const verdict = await said(logVerify, [], without(lost, true))
    expect([exitCode <= 1, stdout.includes('held0@slow.example')]).toEqual([true, lost !== 'lanes'])
    expect(verdict.exitCode).toBe(1)
    expect(verdict.stdout).toMatch(
      new RegExp(`^damage: ${lost}(?:/envelopes)?: this is no directory; lost: `, 'm'),
    )
  },
)
