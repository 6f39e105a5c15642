/** src/EMBEDDING.md names every option, member, method, event and export that a program can use,
 * and no other. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { QueueEmitter } from '../../src/engine/life/events.js'
import { Listenable } from '../../src/engine/life/listenable.js'
import { openOptionNames } from '../../src/history/open-options.js'
import * as waybill from '../../src/index.js'
import { isWaybillError } from '../../src/index.js'
import { Queue } from '../../src/queue.js'
import { root } from './sources.js'

const page = readFileSync(join(root, 'src/EMBEDDING.md'), 'utf8')

/** The text below a heading, up to the next one. */
function section(title: string): string {
  const [, text] = page.split(new RegExp(`^#+ ${title}$`, 'm'))
  return text!.split(/^#+ /m)[0]!
}

/** Names in backticks in the first column of the section's table. */
const firstColumn = (title: string): string[] =>
  [...section(title).matchAll(/^\| ([^|]*) \|/gm)]
    .flatMap(([, cell]) => [...cell!.matchAll(/`(?:\[Symbol\.)?(\w+)[^`]*`/g)])
    .map(([, name]) => name!)

/** Members of an interface in the source. */
function members(path: string, name: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  const body = text.split(`export interface ${name} `)[1]!.split('\n}')[0]!
  return [...body.matchAll(/^ {2}readonly (\w+)\??:/gm)].map(([, member]) => member!)
}

/** The names in the error about a wrong one. */
function eventNames(): string[] {
  try {
    new QueueEmitter().on('nosuch' as 'crashed', () => undefined)
  } catch (error) {
    if (isWaybillError(error)) return /there are (.*?)(?: \(|$)/.exec(error.message)![1]!.split(', ')
  }
  throw new Error('a wrong event was taken')
}

const methods = (): string[] => {
  const names = [Queue.prototype, Listenable.prototype].flatMap((prototype) =>
    Object.getOwnPropertyNames(prototype),
  )
  // Those two are called by `openQueue` itself, as the page says below its table.
  const own = ['constructor', 'keepHistory', 'forgetHistory']
  return ['asyncDispose', ...names.filter((name) => !own.includes(name))]
}

test.each([
  ['Options', () => Object.keys(openOptionNames)],
  [
    'Submitting',
    () => [
      ...members('src/engine/accept/submission.ts', 'Submission'),
      ...members('src/engine/accept/submission-terms.ts', 'SubmissionTerms'),
    ],
  ],
  ['Methods', methods],
  ['Events', eventNames],
  ['Exported functions', () => Object.keys(waybill)],
] as const)('the table of %s has a row for each, and no other', (title, names) => {
  expect(names().length).toBeGreaterThan(10)
  expect(firstColumn(title).toSorted()).toEqual([...names()].toSorted())
})

test('an option that is unknown is answered with all names, the history among them', async () => {
  const wrong = { transports: {}, route: () => ({ transport: '', nexthop: '' }), nosuch: 1 }
  await expect(waybill.openQueue('/nowhere', wrong)).rejects.toThrow(/there are .*disk, history/)
})
