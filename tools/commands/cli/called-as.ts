/** Reads the command from the program's name: a link named `sendmail`, `mailq` or `newaliases`.
 * Pure.
 * Invariant: such a caller knows neither our options nor a working directory, so the queue is that
 * of the environment, or of this machine. */
import { basename } from 'node:path'

/** Where the unit for systemd has it (src/relay/SERVE.md). */
const queueOfMachine = '/var/lib/waybill/queue'

const linkNames: readonly string[] = ['sendmail', 'mailq', 'newaliases']
const places = /^--(?:queue|smtp)(?:=|$)/

/** @param path of the call @param words behind it
 * @param queueOfEnvironment '' for none: then it is that of this machine
 * @returns a command's name and its arguments */
export function wordsOf(
  path: string | undefined,
  words: readonly string[],
  queueOfEnvironment: string,
): readonly string[] {
  const name = basename(path ?? '')
  if (!linkNames.includes(name)) return words
  if (name === 'newaliases') return ['sendmail', '-bi']
  const end = words.indexOf('--')
  const isPlaced = words.slice(0, end < 0 ? words.length : end).some((word) => places.test(word))
  return isPlaced || queueOfEnvironment !== ''
    ? [name, ...words]
    : [name, '--queue', queueOfMachine, ...words]
}
