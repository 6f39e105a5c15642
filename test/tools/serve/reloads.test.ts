/** The turns of reloads, without a relay. */
import { expect, test } from 'vitest'
import { WaybillError } from '../../../src/errors.js'
import { Reloads } from '../../../tools/commands/serve/reload.js'

interface Turn {
  readonly end: () => void
  readonly fail: (error: Error) => void
}

/** Reloads that end when a test says so. */
function heldReloads(nowMs?: () => number): { reloads: Reloads; turns: Turn[]; begin: () => void } {
  const reloads = new Reloads(nowMs)
  const turns: Turn[] = []
  const begin = (): void =>
    reloads.begin(() => {
      const option = String(turns.length + 1)
      return new Promise((resolve, reject) =>
        turns.push({ end: () => resolve([{ option, path: '', holds: '' }]), fail: reject }),
      )
    })
  return { reloads, turns, begin }
}

/** Longer than all that follows from what has happened. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

const numberOf = async (reload: ReturnType<Reloads['ask']>): Promise<string> => (await reload)[0]!.option

test('reloads take turns, and who asks during one gets the next, with all others who do', async () => {
  const { reloads, turns, begin } = heldReloads()
  begin()
  const first = numberOf(reloads.ask())
  await settled()
  const others = [numberOf(reloads.ask()), numberOf(reloads.ask())]
  await settled()
  expect(turns).toHaveLength(1)
  turns[0]!.end()
  await settled()
  others.push(numberOf(reloads.ask()))
  await settled()
  expect(turns).toHaveLength(2)
  turns[1]!.end()
  await settled()
  turns[2]!.end()
  expect(await Promise.all([first, ...others])).toEqual(['1', '2', '2', '3'])
})

test('none begins before the relay takes mail, and all who have asked until then get one', async () => {
  const { reloads, turns, begin } = heldReloads()
  const asked = [numberOf(reloads.ask()), numberOf(reloads.ask())]
  await settled()
  begin()
  await settled()
  expect(turns).toHaveLength(1)
  turns[0]!.end()
  expect(await Promise.all(asked)).toEqual(['1', '1'])
})

test('one that was refused holds up nobody', async () => {
  const { reloads, turns, begin } = heldReloads()
  begin()
  const refused = reloads.ask()
  await settled()
  const next = numberOf(reloads.ask())
  turns[0]!.fail(new WaybillError('OPTION_INVALID', 'no'))
  await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  await settled()
  turns[1]!.end()
  expect(await next).toBe('2')
})

test('the last one is told of with how it ended, and when files were taken up last: at the start at first', async () => {
  let nowMs = 1000
  const { reloads, turns, begin } = heldReloads(() => nowMs)
  begin()
  nowMs = 2000
  expect(reloads.last).toEqual({ isSuccessful: true, successAtMs: 1000 })
  const refused = reloads.ask()
  await settled()
  turns[0]!.fail(new WaybillError('OPTION_INVALID', 'no'))
  await expect(refused).rejects.toMatchObject({ code: 'OPTION_INVALID' })
  expect(reloads.last).toEqual({ isSuccessful: false, successAtMs: 1000 })
  const next = reloads.ask()
  await settled()
  nowMs = 3000
  turns[1]!.end()
  await next
  expect(reloads.last).toEqual({ isSuccessful: true, successAtMs: 3000 })
})
