/** A scheduler configuration in a file, and its problems, one a line.
 * Invariant: a problem is `FILE:LINE:COLUMN: expected …`, which editors take for a place. */
import { zmailerPolicyProblems, type PolicyProblem } from '../../../src/index.js'
import { lineOf, UsageError } from '../cli/command.js'
import { givenFile } from '../text/given-file.js'

/** @throws UsageError when it cannot be read as text */
export async function policyTextOf(path: string): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(await givenFile(path))
  } catch (error) {
    const isText = !(error instanceof TypeError)
    throw new UsageError(isText ? lineOf(error) : `${path} is not UTF-8`, { cause: error })
  }
}

export const problemLine = (path: string, { line, column, expected }: PolicyProblem): string =>
  `${path}:${line}:${column}: expected ${expected}`

export const problemLines = (path: string, text: string): readonly string[] =>
  zmailerPolicyProblems(text).map((problem) => problemLine(path, problem))
