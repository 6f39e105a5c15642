/** `waybill policy explain FILE CHANNEL/HOST`: shows the settings of a destination in a ZMailer
 * scheduler configuration. */
import { zmailerPolicy } from '../../../src/index.js'
import { UsageError, type Arguments, type Command } from '../cli/command.js'
import { Output, processSurroundings, type Surroundings } from '../text/output.js'
import { explanationText } from './explanation-text.js'
import { policyTextOf, problemLines } from './policy-file.js'

export const policyExplain: Command = {
  synopsis: '[--json] FILE CHANNEL/HOST',
  operands: true,
  options: {
    json: { help: 'one JSON object: clauses, settings with their lines, limits, and delays in milliseconds' },
  },
  notes:
    'CHANNEL is the name of a transport, HOST a nexthop, such as smtp/example.org. The file may be wrong\n' +
    'nowhere: `waybill policy check FILE` says where it is.',
  run: (args) => explain(args),
}

/** @returns the exit code */
export async function explain(
  args: Arguments,
  surroundings: Pick<Surroundings, 'write' | 'complain'> = processSurroundings(),
): Promise<number> {
  const { address, path } = operandsOf(args.rest)
  const text = await policyTextOf(path)
  const problems = problemLines(path, text)
  if (problems.length > 0) {
    surroundings.complain(`${problems.join('\n')}\n`)
    return 1
  }
  const explained = zmailerPolicy(text).explain(...address)
  const out = new Output(surroundings)
  if (args.isSet('json')) out.json(explained)
  else out.text(explanationText(explained))
  await out.flush()
  return 0
}

/** @throws UsageError */
function operandsOf(rest: readonly string[]): {
  readonly path: string
  readonly address: readonly [transport: string, nexthop: string]
} {
  const [path, text = '', ...others] = rest
  const [, transport = '', nexthop = ''] = /^([^/]+)\/(.+)$/.exec(text) ?? []
  if (path === undefined || transport === '' || others.length > 0)
    throw new UsageError('expected FILE and CHANNEL/HOST')
  return { path, address: [transport, nexthop] }
}
