/** Every option of a command stands on a page, and those of `serve` on the page of the relay. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { flagOf } from '../../../tools/commands/cli/command.js'
import { loadAll } from '../../../tools/commands/help/catalogue.js'
import { filesBelow, root } from '../../tree/sources.js'

const pageText = (path: string): string => readFileSync(join(root, path), 'utf8')
const servePage = pageText('src/relay/SERVE.md')
const allPages = ['src', 'tools/commands', 'tools/deploy']
  .flatMap((folder) => filesBelow(folder, '.md'))
  .filter((path) => path !== 'src/CHANGES.md')
  .map(pageText)
  .join('\n')

const names = (text: string): ReadonlySet<string> =>
  new Set([...text.matchAll(/(?<![\w-])--?[A-Za-z][\w-]*/g)].map(([name]) => name))

test('every option of a command stands on a page', async () => {
  const commands = (await loadAll()).flatMap((group) => group.commands)
  expect(commands.length).toBeGreaterThan(40)
  const named = { serve: names(servePage), others: names(allPages) }
  const missing = commands.flatMap(({ name, command }) =>
    Object.entries(command.options)
      // What `sendmail` takes for the sake of its callers.
      .filter(([, { help }]) => !help.startsWith('ignored'))
      .map(([option]) => flagOf(option))
      .filter((flag) => !(name === 'serve' ? named.serve : named.others).has(flag))
      .map((flag) => `${name} ${flag}`),
  )
  expect(missing).toEqual([])
})

test("the relay's page begins with all of its subjects, in order", () => {
  const [table = ''] = servePage.split(/^## /m)
  const linked = [...table.matchAll(/^\| \[([^\]]+)\]\(#/gm)].map(([, title]) => title)
  const titles = [...servePage.matchAll(/^## (.*)$/gm)].map(([, title]) => title)
  expect(linked).toEqual(titles)
})
