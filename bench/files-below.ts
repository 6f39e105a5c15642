/** Files and the disk space that they take. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'

export const filesBelow = (directory: string): string[] =>
  readdirSync(directory, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Allocated on the disk, bytes. Files that vanish meanwhile do not count. */
export const diskBytesOf = (directory: string): number =>
  filesBelow(directory).reduce(
    (sum, path) => sum + (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512,
    0,
  )
