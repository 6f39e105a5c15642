/** `waybill reload`: the relay reads its files again. It does the same as SIGHUP, and shows
 * errors. */
import { exits, jsonOption } from '../look/inspection.js'
import { printable } from '../text/shown-text.js'
import { operatingCommand, relayOf, type Operating, type OperatingCommand } from './operating.js'

export const reload: OperatingCommand = operatingCommand(
  'reload',
  {
    synopsis: '[--queue DIR] [--json]',
    options: jsonOption,
    notes:
      'The files of --tls-cert and --tls-key, --auth, --relay-domains, --aliases, --routes, --dkim, --tls-policy, --relay-auth,\n' +
      '--http-tokens, --http-tls-cert and --http-tls-key are read again, as SIGHUP does. If something is wrong with one of them\n' +
      'all stays as it was. Open sessions go on. What stands on the command line of `waybill serve` itself, or in its\n' +
      '--config, takes a restart, and so does a transport that --routes did not name at the start.',
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
