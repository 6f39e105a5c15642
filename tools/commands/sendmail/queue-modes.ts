/** The other modes of sendmail: `-bp` lists the queue, `-q` flushes it, `-bi` rebuilds aliases.
 * Invariant: our own commands do the work; exit codes are those of sysexits.h. */
import { parseArguments, UsageError } from '../cli/command.js'
import { flush } from '../operate/flush.js'
import { exits } from '../look/inspection.js'
import { mailq } from '../look/mailq.js'
import { processSurroundings } from '../text/output.js'
import { sysexits } from './sysexits.js'

/** -bp */
export async function listQueue(path: string): Promise<number> {
  return sysexitOf(await mailq.run(parseArguments(mailq, ['--queue', path])), sysexits.io)
}

/** -q, -qIID, -qRDOMAIN. @param tells false: the count is not printed, because cron calls it
 * @throws UsageError */
export async function flushQueue(path: string, what: string, tells: boolean): Promise<number> {
  const args = parseArguments(flush, ['--queue', path, ...selectionOf(what)])
  const surroundings = processSurroundings()
  return sysexitOf(
    await flush.runIn(args, tells ? surroundings : { ...surroundings, write: async () => undefined }),
    sysexits.tryAgain,
  )
}

function selectionOf(what: string): readonly string[] {
  if (what === '') return ['--all']
  const value = what.slice(1)
  if (what.startsWith('I') && value !== '') return ['--id', value]
  if (what.startsWith('R') && value !== '') return ['--domain', value]
  throw new UsageError(`-q${what}: there are -q, -qIID and -qRDOMAIN; the daemon is \`waybill serve\``)
}

const sysexitOf = (exitCode: number | undefined, wrong: number): number =>
  exitCode === exits.fine ? sysexits.ok : exitCode === exits.noQueue ? sysexits.config : wrong
