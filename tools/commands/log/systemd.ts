/** Tells systemd in which state the relay is (sd_notify), where its unit asks for that.
 * Invariant: messages arrive in order, and the relay waits for none. The program `systemd-notify`
 * sends them, because Node has no datagram sockets of Unix.
 * @see systemd.service(5): Type=notify, NotifyAccess=all */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import type { Logger } from 'pino'
import { lineOf } from '../cli/command.js'

/** @param assignments such as `READY=1` */
export type Notify = (...assignments: readonly string[]) => void

const run = promisify(execFile)
const runMsMax = 10_000

/** Takes NOTIFY_SOCKET out of the environment: programs that the relay starts do not speak for
 * it. */
export function systemdOf(log: Logger, environment: NodeJS.ProcessEnv = process.env): Notify {
  const { NOTIFY_SOCKET: socket } = environment
  if (socket === undefined || socket === '') return () => {}
  const env = { ...environment }
  delete environment['NOTIFY_SOCKET']
  let last: Promise<unknown> = Promise.resolve()
  let isTold = false
  return (...assignments) => {
    const send = (): Promise<unknown> =>
      run('systemd-notify', assignments, { env, timeout: runMsMax }).catch((error: unknown) => {
        if (!isTold)
          log.warn(
            { reason: lineOf(error) },
            'a unit with Type=notify waits for the start: systemd-notify cannot be run',
          )
        isTold = true
      })
    last = last.then(send)
  }
}

/** What `Type=notify-reload` needs with RELOADING=1. */
export const monotonicNow = (): string => `MONOTONIC_USEC=${process.hrtime.bigint() / 1000n}`
