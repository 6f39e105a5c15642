/** Splits a command line into words as a shell does, without a shell.
 * Invariant: a variable's value stays inside its word, and is never read as a quote, a blank or a
 * variable.
 *   1. A sender writes to `ada@[; rm -rf ~]`.
 *   2. The clause's command names `$host`, and a shell reads the line.
 *   3. The relay's files are gone. */

/** Words of a command, the program first. */
export const wordCountMax = 100

/** @returns the words; undefined when a quote is not closed, or there are none or more
 * than wordCountMax */
export function commandWords(command: string): readonly string[] | undefined {
  const word = /\s*((?:[^\s"'\\]|\\[^]|"(?:[^"\\]|\\[^])*"|'[^']*')+)(?=\s|$)/y
  const words: string[] = []
  while (/\S/.test(command.slice(word.lastIndex))) {
    const found = word.exec(command)
    if (found === null || words.length === wordCountMax) return undefined
    words.push(unquoted(found[1] ?? ''))
  }
  return words.length === 0 ? undefined : words
}

const unquoted = (word: string): string =>
  word.replace(
    /\\([^])|"((?:[^"\\]|\\[^])*)"|'([^']*)'/g,
    (_, escaped?: string, inDouble?: string, inSingle?: string) =>
      escaped ?? inDouble?.replace(/\\([^])/g, '$1') ?? inSingle ?? '',
  )

export interface CommandPlace {
  readonly channel: string
  readonly host: string
}

/** `$channel` and `$host` in words, which are replaced there. */
export const expandedWords = (words: readonly string[], { channel, host }: CommandPlace): readonly string[] =>
  words.map((word) => word.replace(/\$(channel|host)/g, (_, name) => (name === 'host' ? host : channel)))
