/** Which queue a call is about: the one that it names with --queue; else that of the environment;
 * else the one below the working directory.
 * Invariant: every command asks here, so that none is about another queue than the next; nothing is
 * looked at or made. */
import process from 'node:process'
import type { Arguments } from './command.js'

export const queueVariable = 'WAYBILL_QUEUE'

/** Where none is named. */
const queueUsual = './var/queue'

/** As the help of an option has it. */
export const queueHelp: string = `the queue's directory, or the URL of one in a store, postgres://…?queue=NAME\n($${queueVariable}, or ${queueUsual})`

export const queuePathOf = (args: Arguments): string =>
  args.one('queue') ?? (queueOfEnvironment() || queueUsual)

/** '' when it names none. */
export const queueOfEnvironment = (): string => process.env[queueVariable] ?? ''

/** For who is told that there is no queue: how he names another, if he has named none. */
export const namingHint = (path: string): string =>
  path === queueUsual ? `; --queue DIR or ${queueVariable} names another` : ''
