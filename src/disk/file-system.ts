/** Decides which file systems a queue may live on.
 * Invariant: a file system whose lock or sync goes over a network is refused: its server may forget
 * durable data, and may lose a lock silently. A doubtful one is used, with a warning. */
import fs from 'node:fs'
import { WaybillError } from '../errors.js'
import { diskFailure } from './failure.js'

/** Magic numbers of statfs(2) and linux/magic.h. */
const refused: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0x517b, 'SMB'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x564c, 'NCP'],
  [0x5346414f, 'AFS'],
  [0x6b414653, 'AFS'],
  [0x73757245, 'Coda'],
])
const doubtful: ReadonlyMap<number, string> = new Map([
  [0x65735546, 'FUSE: whether a sync reaches a disk is up to the program that serves it'],
  [
    0x01021997,
    '9p: whether a sync reaches a disk, and whether a lock is seen by others, is up to the server',
  ],
  [0x00c36400, 'Ceph: whether a lock is seen by other machines is up to how it is mounted'],
  [0x01021994, 'tmpfs: all mail is lost when the machine restarts'],
  [0x858458f6, 'ramfs: all mail is lost when the machine restarts'],
  [0x794c7630, 'overlay: all mail is lost when the container is removed; mount a volume for the queue'],
])

/** @param type the number that statfs(2) gives; other systems than Linux give other numbers and
 * are not judged */
export function judgeFileSystem(type: number, path: string, platform: string = process.platform): string[] {
  if (platform !== 'linux') return []
  const magic = type >>> 0
  const network = refused.get(magic)
  if (network !== undefined) {
    throw new WaybillError(
      'NETWORK_FILE_SYSTEM',
      `a queue needs a local disk, this is ${network}: neither its lock nor its sync can be relied on`,
      { path },
    )
  }
  const doubt = doubtful.get(magic)
  return doubt === undefined ? [] : [`the queue lies on ${doubt}`]
}

/** The warnings for the directory at `path`.
 * @throws WaybillError NETWORK_FILE_SYSTEM, DISK_FAILED */
export function fileSystemWarnings(path: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    fs.statfs(path, (error, stats) => {
      if (error) {
        reject(diskFailure('lock', path, error.code, error))
        return
      }
      try {
        resolve(judgeFileSystem(stats.type, path))
      } catch (refusal) {
        reject(refusal as WaybillError)
      }
    })
  })
}
