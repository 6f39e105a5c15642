#!/usr/bin/env node
/** The entry point of the command `waybill`: it prepares the process before the command is loaded.
 * Invariant: it loads nothing before it listens to SIGHUP, and before it can say what went wrong.
 *    1. a unit is started, and certbot's hook reloads it
 *    2. nobody listens to SIGHUP yet, for loading takes some tenths of a second
 *    3. the system ends the relay */
import { isatty } from 'node:tty'

const hangUps = hangUpsOf(process.argv[2] === 'serve')

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

function reasonOf(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException
  return code === 'EMFILE' ? `${message}; \`ulimit -n\` is too low` : String(message)
}
