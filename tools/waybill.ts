#!/usr/bin/env node
/** The entry point of the command `waybill`: it prepares the process before the command is loaded.
 * Invariant: it loads nothing before it listens to SIGHUP, and before it can say what went wrong.
 *    1. a unit is started, and certbot's hook reloads it
 *    2. nobody listens to SIGHUP yet, for loading takes some tenths of a second
 *    3. the system ends the relay */
import { isatty } from 'node:tty'
import { setFlagsFromString } from 'node:v8'

const isServe = process.argv[2] === 'serve'
const hangUps = hangUpsOf(isServe)
if (isServe) {
  letDataGrow()
  // Node would open a debugger, in which every user of the machine can run code as the relay.
  process.on('SIGUSR1', () => undefined)
}

import('./commands/help/run-command.js')
  .then(({ runCommand }) => runCommand(process.argv[1], process.argv.slice(2), hangUps))
  .then(
    (exitCode) => {
      if (exitCode !== undefined) process.exitCode = exitCode
    },
    (error: unknown) => {
      process.stderr.write(`waybill: it cannot be loaded: ${reasonOf(error)}\n`)
      process.exitCode = 1
    },
  )

/** One that came earlier calls the listener at once. */
function hangUpsOf(areHeard: boolean) {
  let keptCount = 0
  const keep = (): void => void keptCount++
  if (areHeard) process.on('SIGHUP', keep)
  return {
    terminal: [0, 1, 2].find((descriptor) => isatty(descriptor)),
    listen: (listener: () => void): void => {
      process.on('SIGHUP', listener)
      process.off('SIGHUP', keep)
      if (keptCount > 0) listener()
    },
  }
}

/** Data lies outside of V8's heap. V8 of Node 24 to 26 marks the whole heap for each 64 MiB of it,
 * however small the heap is, unless this switch has it count both together. V8 of Node 20 to 23
 * has no such switch and needs none; newer V8 counts so always.
 * @see nodejs/node#61967 */
function letDataGrow(): void {
  const major = Number(process.versions.node.split('.')[0])
  if (major >= 24 && major <= 26) setFlagsFromString('--external-memory-accounted-in-global-limit')
}

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'EMFILE' ? `${message}; \`ulimit -n\` is too low` : String(message)
}
