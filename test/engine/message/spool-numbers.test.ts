/** The numbers of files of large mail: none is given twice, also when a life gives more than it
 * has to itself. */
import { expect, test } from 'vitest'
import { spoolPath } from '../../../src/directory/paths.js'
import { delivered, mail, patient, pause, simulated, submission, deferred, type Stage } from '../stage.js'

const numbersPerLife = 2 ** 28

const large = (recipient: string): ReturnType<typeof submission> =>
  submission(recipient, mail(`Of ${recipient}: ${'grace and ada\r\n'.repeat(4000)}`))

const numbersOf = async (stage: Stage): Promise<number[]> =>
  (await stage.spoolFiles())
    .map((path) => Number.parseInt(path.slice('spool/'.length), 16))
    .sort((a, b) => a - b)

/** A second life that has given all its numbers but `left`. */
async function usedUp(stage: Stage, left: number): Promise<void> {
  await stage.open(patient)
  await stage.ids()
  stage.disk!.image.create(spoolPath(3 * numbersPerLife - left))
  await stage.open({ ...patient, checkpointIntervalMs: 3_600_000 })
  await stage.ids()
  await stage.until('the orphan is gone', async () => (await stage.spoolFiles()).length === 0)
}

test('what a life gives beyond its own numbers is not given again by the next, whose mail is there after two crashes', async () => {
  let beforeCheckpoint = 0
  for (let seed = 0; seed < 30; seed++)
    await simulated(
      async (stage) => {
        await usedUp(stage, 0)
        stage.answer = () => delivered
        await stage.queue.submit(large('first@example.net'))
        await stage.until('it has ended', () => stage.told('delivered').length === 1)
        // A file outlives one more batch than that of the finish.
        await stage.queue.submit(submission('small@example.net'))
        await stage.until('its file is gone', async () => (await stage.spoolFiles()).length === 0)
        stage.answer = () => deferred
        await stage.open(patient)
        const { id } = await stage.queue.submit(large('second@example.net'))
        if (stage.queue.stats().recovering) beforeCheckpoint++
        await stage.open(patient)
        expect(await stage.ids()).toContain(id)
        stage.answer = () => delivered
        await stage.queue.flush({ all: true })
        await stage.until('it is delivered', () => stage.told('delivered').includes('second@example.net'))
        expect(stage.data.get(`${id} second@example.net`)).toBe(large('second@example.net').data)
      },
      { seed },
    )
  expect(beforeCheckpoint).toBeGreaterThan(0)
})

test('one after the other and at once, a life goes on past its last number, and a later life counts on from its claim', async () => {
  await simulated(async (stage) => {
    stage.answer = () => deferred
    await usedUp(stage, 2)
    const end = 3 * numbersPerLife
    await stage.queue.submit(large('one@example.net'))
    await Promise.all(['a', 'b', 'c'].map((name) => stage.queue.submit(large(`${name}@example.net`))))
    expect(await numbersOf(stage)).toEqual([end - 1, end, end + 1, end + 2])
    await stage.open(patient)
    await stage.queue.submit(large('later@example.net'))
    const numbers = await numbersOf(stage)
    expect(numbers.slice(0, 4)).toEqual([end - 1, end, end + 1, end + 2])
    expect(numbers[4]).toBe(end + numbersPerLife / 2 + 1)
    expect(await stage.ids()).toHaveLength(5)
    await pause(stage, 1000)
    await stage.open(patient)
    expect(await numbersOf(stage)).toEqual(numbers)
    expect(await stage.ids()).toHaveLength(5)
  })
})

test.each(['ffffffffffffff', '1fffffffffffff'])(
  'a file %s.mail, whose number no life comes to, is left alone, and takes no number from any',
  async (name) => {
    await simulated(async (stage) => {
      stage.answer = () => deferred
      await stage.open(patient)
      await stage.ids()
      stage.disk!.image.create(`spool/${name}.mail`)
      await stage.open(patient)
      for (const recipient of ['one@example.net', 'two@example.net'])
        await stage.queue.submit(large(recipient))
      await stage.open(patient)
      await stage.queue.submit(large('three@example.net'))
      expect(await stage.ids()).toHaveLength(3)
      const foreign = Number.parseInt(name, 16)
      const lives = [2, 2, 3].map((life, i) => life * numbersPerLife + [1, 2, 1][i]!)
      expect(await numbersOf(stage)).toEqual([...lives, foreign])
    })
  },
)
