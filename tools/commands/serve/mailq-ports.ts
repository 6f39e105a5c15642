/** The listeners of `serve` for listings: the socket `mailq` in the queue's directory, for the
 * users of this machine, and the ports of `--mailq`.
 * Invariant: without the socket mail is delivered as ever; a port that was asked for, and
 * cannot be had, ends the start. */
import type { Logger } from 'pino'
import { answerForMailq, listenMailq } from '../../../src/mailq/mailq-port.js'
import type { ReadQueue } from '../../../src/mailq/reading.js'
import type { Listener } from '../../../src/relay/listening.js'
import type { Arguments, Option } from '../cli/command.js'
import { formatEndpoint, parseWord, type Endpoint } from '../cli/values.js'

const users = ['all', 'owner'] as const

export const mailqOptions: Readonly<Record<string, Option>> = {
  mailq: {
    value: 'HOST:PORT',
    help: 'show there which mail waits, as the MAILQ port of ZMailer does, without a password; 127.0.0.1 when there is only a\nport; a name is all of its addresses; port 0 takes any free one (nowhere)',
  },
  'mailq-users': {
    value: 'WHO',
    words: users,
    help: 'which users of this machine `waybill mailq` shows the queue to: all that may look into its directory, as in\nPostfix, or its owner (all)',
  },
}

/** @throws UsageError */
export const mailqUsersOf = (args: Arguments): (typeof users)[number] =>
  parseWord('mailq-users', args.one('mailq-users') ?? 'all', users)

/** Says where it answers. @returns what closes all of it
 * @throws the system's error when a port cannot be had */
export async function answerListings(
  queue: ReadQueue,
  directory: string | undefined,
  endpoints: readonly Endpoint[],
  log: Logger,
): Promise<() => void> {
  const onError = (error: unknown): void => log.warn({ err: error }, 'the queue cannot be listed')
  const listeners: Listener[] = []
  const close = (): void => listeners.forEach((listener) => listener.close())
  try {
    for (const endpoint of endpoints) listeners.push(await listenMailq(queue, endpoint, { onError }))
  } catch (error) {
    close()
    throw error
  }
  for (const listener of listeners) {
    const text = formatEndpoint(listener)
    log.info({ mailq: text }, 'the mailq port')
    process.stdout.write(`mailq on ${text}\n`)
  }
  if (directory === undefined) return close
  const stop = await answerForMailq(queue, directory, { onError }).catch((error: unknown) => {
    log.warn({ err: error }, 'other users cannot list the queue')
  })
  return () => {
    close()
    stop?.()
  }
}
