/** A project of somebody else's that has installed the built package, without what is only there
 * for development. */
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

export const root: string = fileURLToPath(new URL('..', import.meta.url))

/** @returns its directory, gone when the test has ended */
export function project(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-project-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  mkdirSync(join(directory, 'node_modules'))
  symlinkSync(root, join(directory, 'node_modules/waybill'))
  for (const name of ['nodemailer', 'smtp-server', 'prom-client'])
    symlinkSync(join(root, 'node_modules', name), join(directory, 'node_modules', name))
  writeFileSync(join(directory, 'package.json'), '{"type":"module"}')
  return directory
}
