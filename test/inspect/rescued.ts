/** `waybill log rescue` from a disk in memory. */
import { expect } from 'vitest'
import { nodeDisk } from '../../src/disk/node-disk.js'
import { logRescue } from '../../tools/commands/look/log-rescue.js'
import { command, type Commanded } from './commanded.js'
import { MemoryDisk, type Files } from './memory-disk.js'

interface Sound {
  readonly directories: readonly string[]
  readonly nowMs: number
}

/** Nothing is written to what it is rescued from. @param to directory of the new queue */
export async function rescued(
  files: Files,
  { directories, nowMs }: Sound,
  to: string,
  ...more: readonly string[]
): Promise<Commanded> {
  const source = new MemoryDisk(files, directories)
  const disk = (path: string): ReturnType<typeof nodeDisk> => (path === 'from' ? source : nodeDisk(path))
  const said = await command(logRescue, ['from', '--to', to, ...more], disk, nowMs)
  expect(source.writeCount).toBe(0)
  return said
}
