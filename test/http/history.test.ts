/** The history over HTTP. */
import { expect, test } from 'vitest'
import { httpStage } from './stage.js'

test('mail that has ended is found, page by page', async () => {
  const stage = await httpStage({}, { history: {} })
  stage.answer = () => ({ kind: 'delivered' })
  await stage.until(() => stage.queue.consumers().length === 1)
  const id = await stage.submit('b@example.net')
  const entries = async (query: string): Promise<{ kinds: string[]; next: string | null }> => {
    const page = (await (await stage.ask('read', `/v1/history?${query}`)).json()) as {
      readonly entries: readonly { readonly kind: string }[]
      readonly next: string | null
      readonly isKept: boolean
    }
    expect(page.isKept).toBe(true)
    return { kinds: page.entries.map(({ kind }) => kind), next: page.next }
  }
  await stage.until(async () => (await entries(`id=${id}`)).kinds.includes('finished'))
  expect(await entries(`id=${id}`)).toEqual({ kinds: ['accepted', 'delivered', 'finished'], next: null })
  const { kinds, next } = await entries('recipient=B@example.net&limit=1')
  expect(kinds).toEqual(['accepted'])
  expect(await entries(`recipient=b@example.net&after=${next}`)).toEqual({ kinds: ['delivered'], next: null })
  expect((await stage.json('read', '/v1/history')).code).toBe('OPTION_INVALID')
  expect((await stage.ask('submit', `/v1/history?id=${id}`)).status).toBe(403)
})

test('a queue that keeps no history says so', async () => {
  const stage = await httpStage()
  const answer = await stage.ask('read', '/v1/history?recipient=b@example.net')
  expect(await answer.json()).toEqual({ entries: [], next: null, isKept: false })
})
