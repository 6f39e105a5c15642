import { expect, test } from 'vitest'
import { commandWords, expandedWords, wordCountMax } from '../../src/policy/command-words.js'

test.each([
  ['smtp -esrl /var/log/smtp', ['smtp', '-esrl', '/var/log/smtp']],
  [`  sh -c 'exit 1'  "a \\"b\\" \\\\" x\\ y ''`, ['sh', '-c', 'exit 1', 'a "b" \\', 'x y', '']],
  [`a'b'"c"d`, ['abcd']],
])('%s is parted as a shell does', (command, words) => {
  expect(commandWords(command)).toEqual(words)
})

test.each(['', '   ', `a 'b`, 'a "b', 'a \\', 'x '.repeat(wordCountMax + 1)])(
  '%j is no command',
  (command) => {
    expect(commandWords(command)).toBeUndefined()
  },
)

test('what is put in for a variable stays inside its word, and is no variable itself', () => {
  const words = commandWords('sm -c$channel "to $host"') ?? []
  expect(expandedWords(words, { channel: 'uu cp', host: `'; $channel` })).toEqual([
    'sm',
    '-cuu cp',
    `to '; $channel`,
  ])
})
