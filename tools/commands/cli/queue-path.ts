/** Finds the queue of a call: of --queue, else of the environment, else below the working
 * directory.
 * Invariant: every command asks here, so all agree; nothing is looked at or made. */
import process from 'node:process'
import { UsageError, type Arguments } from './command.js'

export const queueVariable = 'WAYBILL_QUEUE'

/** The default. */
const queueDefault = './var/queue'

/** For the help of an option. */
export const queueHelp: string = `the queue's directory, or the URL of one in a store, postgres://…?queue=NAME\n($${queueVariable}, or ${queueDefault})`

/** @throws UsageError for an empty name: it would be the working directory */
export function queuePathOf(args: Arguments): string {
  const path = args.one('queue') ?? (queueOfEnvironment() || queueDefault)
  if (path === '') throw new UsageError('--queue has an empty value')
  return path
}

/** '' if it names none. */
export const queueOfEnvironment = (): string => process.env[queueVariable] ?? ''

/** A hint for an operator without a queue: how to name another. */
export const namingHint = (path: string): string =>
  path === queueDefault ? `; --queue DIR or ${queueVariable} names another` : ''
