import { expect, test } from 'vitest'
import { ProblemError } from '../../../src/http/wire/problem-details.js'
import { RequestLimit } from '../../../src/http/wire/request-limit.js'

const refusal = new ProblemError('TOO_MANY_REQUESTS', '2 pages are being made already')

test('a request beyond the limit is refused, and one that has ended or failed leaves its place', async () => {
  const pages = new RequestLimit(2, 'pages are being made')
  let finish = (): void => undefined
  let fail = (_error: Error): void => undefined
  const first = pages.run(() => new Promise<void>((resolve) => (finish = resolve)))
  const second = pages.run(() => new Promise<void>((_, reject) => (fail = reject)))
  await expect(pages.run(async () => 'third')).rejects.toEqual(refusal)
  finish()
  await first
  expect(await pages.run(async () => 'third')).toBe('third')
  const failed = new Error('it failed')
  fail(failed)
  await expect(second).rejects.toBe(failed)
  expect(await pages.run(async () => 'fourth')).toBe('fourth')
})
