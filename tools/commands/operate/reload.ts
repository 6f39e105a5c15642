/** `waybill reload`: the relay reads its files again. It does the same as SIGHUP, and shows
 * errors. */
import { exits, jsonOption } from '../look/inspection.js'
import { printable } from '../text/shown-text.js'
import { operatingCommand, relayOf, type Operating, type OperatingCommand } from './operating-command.js'

export const reload: OperatingCommand = operatingCommand(
  'reload',
  {
    synopsis: '[--queue DIR] [--json]',
    options: jsonOption,
    notes:
      'The files of --tls-cert, --tls-key, --auth, --relay-domains, --aliases, --senders, --routes, --limits, --shaping,\n' +
      '--dkim, --tls-policy, --relay-auth, --webhook-secret, --http-tokens, --http-tls-cert, --http-tls-key and\n' +
      '--scheduler-conf are read again, and of --config the parameters (-o), as SIGHUP does. If something is wrong with one\n' +
      'of them all stays as it was. Open sessions go on. New transports of --routes begin. Other options, of the command line\n' +
      'or of --config, take a restart, and so do the parameters that the relay names then.',
  },
  () => undefined,
  operate,
)

async function operate(operating: Operating): Promise<number> {
  const { args, out } = operating
  const relay = await relayOf(operating)
  if (relay === undefined) return exits.wrong
  try {
    const files = await relay.reload()
    for (const file of files) {
      if (args.isSet('json')) out.json(file)
      else out.line(printable(`--${file.option} ${file.path}: ${file.holds}`))
    }
    if (files.length === 0 && !args.isSet('json')) out.line('the relay was given no files')
    return exits.fine
  } finally {
    relay.close()
  }
}
