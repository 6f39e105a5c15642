/** Every message that an operator or a client can see is in `messages.txt`: errors, log lines,
 * help, output. A changed message shows there, so that its English is read:
 * `npx vitest run … test/tree -u` writes it. */
import { expect, test } from 'vitest'
import { oldWords } from './old-words.js'
import { sourcesBelow, type Source } from './sources.js'

const shown = (path: string): boolean =>
  /^src\/(?!sim\/)/.test(path) || /^tools\/(?:commands\/|waybill\.ts)/.test(path)

/** Comments, and strings and templates: what stands in the first group. */
const literal = /\/\/[^\n]*|\/\*[\s\S]*?\*\/|('(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\.)*`)/g

/** Three words or more. */
const isSentence = (text: string): boolean =>
  (text.match(/[a-z]{2,}/gi)?.length ?? 0) >= 3 && / .* /.test(text)

/** What only a bug shows, names of modules, and markup. */
const isHidden = (before: string, text: string): boolean =>
  /\bassert\([^;]*$/.test(before) || /^\.{1,2}\//.test(text) || /<\w+ |CREATE (?:TABLE|FUNCTION)/.test(text)

export const messagesOf = ({ text }: Source): string[] =>
  [...text.matchAll(literal)].flatMap(({ 1: quoted, index }) => {
    if (quoted === undefined) return []
    const message = quoted.slice(1, -1)
    const before = text.slice(Math.max(0, index - 300), index)
    return isSentence(message) && !isHidden(before, message) ? [message.replaceAll('\n', '\\n')] : []
  })

const sources = [...sourcesBelow('src'), ...sourcesBelow('tools')].filter(({ path }) => shown(path))

test('messages that people see are those that were read', async () => {
  const listed = sources.flatMap((source) => {
    const messages = [...new Set(messagesOf(source))].sort()
    return messages.length === 0 ? [] : [`${source.path}\n${messages.map((text) => `  ${text}\n`).join('')}`]
  })
  expect(listed.length).toBeGreaterThan(100)
  await expect(listed.join('')).toMatchFileSnapshot('messages.txt')
})

test('messages are in plain words', () => {
  const found = sources.flatMap((source) => messagesOf(source).filter((message) => oldWords.test(message)))
  expect(found).toEqual([])
})
