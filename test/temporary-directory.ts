/** Directories of tests on the real disk. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** It is gone when the test has ended. Behind it are removed: what was to end before the directory
 * is registered later than it. @param name what the test is about, part of the path */
export async function temporaryDirectory(name: string): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), `waybill-${name}-`))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  return directory
}
