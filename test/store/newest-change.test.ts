/** Whether a store still has the newest changes that it has answered. */
import { expect, test } from 'vitest'
import { NewestChange } from '../../src/store/writer.js'
import { done, refused, type Answer, type Session, type Write } from '../../src/store/store.js'

const segment = { file: 7, hasTable: true }
const appended = (at: number): Write => ({
  verb: 'append',
  file: segment,
  extents: [{ at, upto: at + 10, bytes: Buffer.alloc(10) }],
})
const unlinked = (number: number): Write => ({ verb: 'unlink', path: 'spool/1', number })
const overwritten: Write = { verb: 'overwrite', file: segment, from: 0, upto: 10, extents: [] }

/** A store in which the last change has that number, and these places have extents. */
function sessionOf(number: number, places: readonly number[] | 'no table'): Session {
  const holds = (_queue: number, _file: unknown, { at }: { readonly at: number }): Promise<Answer<boolean>> =>
    Promise.resolve(
      places === 'no table' ? refused({ kind: 'errno', errno: 'ENOENT' }) : done(places.includes(at)),
    )
  return { lastChange: () => Promise.resolve(done(number)), holds } as unknown as Session
}

async function isKept(
  answered: readonly (readonly Write[])[],
  number: number,
  places: readonly number[] | 'no table',
): Promise<boolean> {
  const newest = new NewestChange()
  for (const writes of answered) newest.note(writes)
  const answer = await newest.isIn(sessionOf(number, places), 1)
  return answer.kind === 'done' && answer.value
}

test.each<[string, readonly (readonly Write[])[], number, readonly number[] | 'no table', boolean]>([
  ['nothing was answered', [], 0, [], true],
  ['the append is there', [[appended(0)], [appended(10)]], 0, [0, 10], true],
  ['the append is missing', [[appended(0)], [appended(10)]], 0, [0], false],
  ['its segment is missing', [[appended(0)]], 0, 'no table', false],
  ['the number is that of the last change', [[unlinked(4)], [unlinked(5)]], 5, [], true],
  ['the number is less', [[unlinked(4)], [unlinked(5)]], 4, [], false],
  [
    'a later change, whose answer was lost, may have removed the file',
    [[unlinked(5)], [appended(0)]],
    6,
    [],
    true,
  ],
  ['the append behind the last change is missing', [[unlinked(5)], [appended(0)]], 5, [], false],
  ['what was appended together with an unlink may be its file', [[appended(0), unlinked(5)]], 5, [], true],
  ['what was overwritten since may have another length', [[appended(0)], [overwritten]], 0, [], true],
])('%s', async (_, answered, number, places, kept) => {
  expect(await isKept(answered, number, places)).toBe(kept)
})
