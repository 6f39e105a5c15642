/** What the relay says to systemd. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, onTestFinished, test } from 'vitest'
import { systemdOf } from '../../../tools/commands/log/systemd.js'

function newDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-notify-'))
  onTestFinished(() => rmSync(directory, { recursive: true, force: true }))
  return directory
}

/** @param script of a `systemd-notify` */
function told(script: string) {
  const directory = newDirectory()
  const program = join(directory, 'systemd-notify')
  writeFileSync(program, `#!/bin/sh\n${script}\n`)
  chmodSync(program, 0o700)
  const path = join(directory, 'said')
  writeFileSync(path, '')
  const environment: NodeJS.ProcessEnv = {
    PATH: `${directory}:/usr/bin:/bin`,
    SAID: path,
    NOTIFY_SOCKET: '@x',
  }
  const lines: string[] = []
  const log = pino({ base: null }, { write: (line: string) => void lines.push(line) })
  return { environment, log, lines, said: () => readFileSync(path, 'utf8') }
}

test('messages reach systemd-notify in order, and other programs do not learn of its socket', async () => {
  const { environment, log, lines, said } = told(
    '[ "$1" = READY=1 ] && sleep 0.2; echo "$NOTIFY_SOCKET $*" >> "$SAID"',
  )
  const notify = systemdOf(log, environment)
  notify('READY=1', 'STATUS=listening on 127.0.0.1:25')
  notify('STOPPING=1')
  await expect.poll(said).toBe('@x READY=1 STATUS=listening on 127.0.0.1:25\n@x STOPPING=1\n')
  expect(environment['NOTIFY_SOCKET']).toBeUndefined()
  expect(lines).toEqual([])
})

test('a systemd-notify that fails is a warning, once', async () => {
  const { environment, log, lines, said } = told('echo "$1" >> "$SAID"; echo no socket >&2; exit 1')
  const notify = systemdOf(log, environment)
  notify('READY=1')
  notify('STOPPING=1')
  await expect.poll(said).toBe('READY=1\nSTOPPING=1\n')
  await expect.poll(() => lines).toHaveLength(1)
  expect(lines[0]).toMatch(/^\{"level":40,.*no socket.*systemd-notify cannot be run"\}\n$/)
})

test('where no unit asks for it nothing is run', async () => {
  const { environment, log, lines, said } = told('echo "$1" >> "$SAID"')
  delete environment['NOTIFY_SOCKET']
  systemdOf(log, environment)('READY=1')
  const notify = systemdOf(log, { ...environment, NOTIFY_SOCKET: '@x' })
  notify('STOPPING=1')
  await expect.poll(said).toBe('STOPPING=1\n')
  expect(lines).toEqual([])
})
