/** A transport whose nexthop is the command line of an agent: lines `pipe:` of a table of routes.
 * Invariant: only commands of the table are run, whatever a message was rerouted to. */
import type { Transport } from '../../delivery/transport.js'
import { commandWords } from '../../policy/command-words.js'
import { pipeTransport, type PipeOptions } from './pipe-transport.js'

/** @param commands those of the table, as they stand there */
export function pipeRoutes(
  commands: ReadonlySet<string>,
  options: Omit<PipeOptions, 'command' | 'channel'> = {},
): Transport {
  const byCommand = new Map(
    [...commands].map((command) => [
      command,
      pipeTransport({ ...options, command: commandWords(command) ?? [command] }),
    ]),
  )
  return {
    deliver: (request, signal) =>
      byCommand.get(request.nexthop)?.deliver(request, signal) ?? {
        kind: 'deferred',
        status: '4.3.5',
        reason: 'no line of --routes names this command',
      },
    close: () => {
      for (const transport of byCommand.values()) transport.close?.()
    },
  }
}
