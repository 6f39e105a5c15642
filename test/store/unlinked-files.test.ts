/** Unlinked files of a queue in a store are removed with a later beat where one could not. */
import { expect, test } from 'vitest'
import { pause } from '../../src/base/clock.js'
import { WaybillError } from '../../src/errors.js'
import { refused, unknown, type Answer, type Session, type Store } from '../../src/store/store.js'
import { SimLives } from './sim-lives.js'

/** A store whose first removal is answered so. */
function answering(store: Store, answer: Answer<number>): Store {
  let isFirst = true
  const connect = async (nonce: string | undefined): Promise<Answer<Session>> => {
    const connected = await store.connect(nonce)
    if (connected.kind !== 'done') return connected
    const session = connected.value
    const reap = session.reap.bind(session)
    session.reap = async (...asked) => {
      if (!isFirst) return reap(...asked)
      isFirst = false
      return answer
    }
    return connected
  }
  return { name: store.name, newNonce: () => store.newNonce(), connect }
}

const away = new WaybillError('STORE_UNREACHABLE', 'away')

test.each<[string, Answer<number>]>([
  ['the store refuses that once', refused({ kind: 'failed', error: away })],
  ['the answer is lost', unknown(away)],
])('what was unlinked is removed though %s', async (_, answer) => {
  const lives = new SimLives()
  const { disk, claimed } = lives.life('a', (store) => answering(store, answer))
  await lives.settle(
    claimed().then(async () => {
      const file = await disk.open('header', 'create')
      await file.close()
      await disk.unlink('header')
      expect(lives.unlinkedCount).toBe(1)
      await pause(lives.world.clock, 2000, undefined)
    }),
  )
  expect(lives.unlinkedCount).toBe(0)
  disk.abandon()
  lives.world.stop()
})
