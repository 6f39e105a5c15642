/** A scheduler configuration in a file, and its problems, one a line.
 * Invariant: a problem is `FILE:LINE:COLUMN: expected …`, which editors take for a place. */
import { utf8Text } from '../../../src/base/text.js'
import { zmailerPolicyProblems, type PolicyProblem } from '../../../src/index.js'
import { lineOf, UsageError } from '../cli/command.js'
import { givenFile } from '../text/given-file.js'

/** @throws UsageError when it cannot be read as text */
export async function policyTextOf(path: string): Promise<string> {
  const bytes = await givenFile(path).catch((error: unknown) => {
    throw new UsageError(lineOf(error), { cause: error })
  })
  const text = utf8Text(bytes)
  if (text === undefined) throw new UsageError(`${path} is not UTF-8`)
  return text
}

export const problemLine = (path: string, { line, column, expected }: PolicyProblem): string =>
  `${path}:${line}:${column}: expected ${expected}`

export const problemLines = (path: string, text: string): readonly string[] =>
  zmailerPolicyProblems(text).map((problem) => problemLine(path, problem))
