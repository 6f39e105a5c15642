/** `waybill policy check FILE`: checks a ZMailer scheduler configuration. */
import { countText } from '../../../src/base/text.js'
import { zmailerPolicy, zmailerPolicyProblems } from '../../../src/index.js'
import { oneOperand, type Arguments, type Command } from '../cli/command.js'
import { Output, processSurroundings, type Surroundings } from '../text/output.js'
import { policyTextOf, problemLine } from './policy-file.js'

export const policyCheck: Command = {
  synopsis: '[--json] FILE',
  operands: true,
  options: {
    json: { help: 'one JSON object: clauses, intervals in milliseconds, and problems' },
  },
  notes: 'It ends with 1 when something is wrong. `serve --scheduler-conf FILE` takes what has no problem.',
  run: (args) => check(args),
}

/** @returns the exit code */
export async function check(
  args: Arguments,
  surroundings: Pick<Surroundings, 'write'> = processSurroundings(),
): Promise<number> {
  const path = oneOperand(args, 'FILE')
  const text = await policyTextOf(path)
  const problems = zmailerPolicyProblems(text)
  const policy = problems.length === 0 ? zmailerPolicy(text) : undefined
  const out = new Output(surroundings)
  if (args.isSet('json')) {
    out.json({ clauses: policy?.clauses.length ?? 0, intervalsMs: policy?.intervalsMs ?? [], problems })
  } else if (policy !== undefined) {
    const clauses = countText(policy.clauses.length, 'clause')
    out.line(`${path}: ${clauses}, ${countText(policy.intervalsMs.length, 'interval')} between attempts`)
  } else for (const problem of problems) out.line(problemLine(path, problem))
  await out.flush()
  return problems.length === 0 ? 0 : 1
}
