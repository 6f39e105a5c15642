import { expect, test } from 'vitest'
import { World } from './world.js'

test('a small message slips in before a large one that has earned its slots', () => {
  const world = new World({
    defaultProcessLimit: 1,
    defaultDeliverySlotCost: 2,
    defaultDeliverySlotLoan: 0,
    defaultDeliverySlotDiscount: 0,
    defaultDestinationRecipientLimit: 2,
  })
  world.admit(['smtp', 'a.test', 20])
  world.admit(['smtp', 'a.test', 4])
  world.admit(['smtp', 'a.test', 4])
  let order = ''
  for (let entry = world.next(); entry; entry = world.next()) {
    order += Number(entry.message.id.slice(1)) + 1
    world.report(entry, 'ok')
  }
  expect(order).toBe('11112211113311')
})

test('transports take turns', () => {
  const world = new World({ transports: { ta: {}, tb: {} } })
  world.admit(['ta', 'a.test', 150], ['tb', 'b.test', 150])
  expect(world.fill().map(({ transport }) => transport)).toEqual(['tb', 'ta', 'tb', 'ta', 'tb', 'ta'])
})

test('destinations of a message take turns', () => {
  const world = new World({ defaultDestinationRecipientLimit: 2 })
  world.admit(['smtp', 'a.test', 4], ['smtp', 'b.test', 4])
  expect(world.fill().map(({ nexthop }) => nexthop)).toEqual(['a.test', 'b.test', 'a.test', 'b.test'])
})

test('a nexthop is one destination whatever its case, and keeps the case in which it came first', () => {
  const world = new World()
  world.admit(['smtp', 'A.Test', 1])
  world.admit(['smtp', 'a.test', 1])
  expect([...world.scheduler.destinations()]).toMatchObject([{ name: 'a.test', nexthop: 'A.Test', todo: 2 }])
})

test('with one recipient per entry every recipient is a destination of its own', () => {
  const world = new World({ defaultDestinationRecipientLimit: 1 })
  world.admit(['smtp', 'a.test', 2])
  expect([...world.scheduler.destinations()].map(({ name }) => name)).toEqual(['u0-0@a.test', 'u0-1@a.test'])
})

/** 1. both transports have destinations that are held back until they answer 2. `tb` has its turn,
 * and nothing to begin 3. `ta` has its turn, reads on, and what comes is for `tb`. */
test('recipients that one transport read are selected for another that has had its turn', () => {
  const transport = {
    recipientLimit: 3,
    extraRecipientLimit: 0,
    recipientRefillLimit: 1,
    recipientRefillDelay: 0,
  }
  const world = new World({
    qmgrMessageActiveLimit: 3,
    qmgrMessageRecipientLimit: 1,
    qmgrMessageRecipientMinimum: 4,
    defaultProcessLimit: 20,
    defaultUnansweredProcessShare: 15,
    initialDestinationConcurrency: 2,
    defaultDestinationRecipientLimit: 1,
    defaultDeliverySlotCost: 0,
    transports: { ta: transport, tb: { ...transport, recipientLimit: 2 } },
  })
  world.admit(['tb', 'a.test', 1])
  world.admit(['ta', 'b.test', 3])
  world.admit(['ta', 'b.test', 1])
  world.admit(['tb', 'b.test', 2])
  world.admit(['tb', 'a.test', 1], ['ta', 'a.test', 1])
  world.admit(['ta', 'b.test', 1], ['tb', 'a.test', 4])
  world.admit(['ta', 'a.test', 4])
  world.fill()
  const end = (name: string, result: 'ok' | 'crash'): void => {
    world.report(
      world.underWay.find((entry) => `${entry.transport} ${entry.destinationName}` === name)!,
      result,
    )
  }
  end('tb u0-0@b.test', 'ok')
  end('ta u0-1@b.test', 'ok')
  end('ta u0-0@b.test', 'crash')
  expect(world.fill().map((entry) => `${entry.transport} ${entry.destinationName}`)).toEqual([
    'ta u0-0@b.test',
    'tb u1-3@a.test',
  ])
})

test('a large message is read in batches, never beyond the bound', () => {
  const world = new World({
    qmgrMessageRecipientLimit: 20,
    qmgrMessageActiveLimit: 3,
    qmgrMessageRecipientMinimum: 5,
    defaultRecipientLimit: 10,
    defaultExtraRecipientLimit: 2,
  })
  const large = world.admit(['smtp', 'a.test', 1000])
  world.finish()
  expect(large.done).toBe(true)
})

test('messages that would exceed the bound wait inside, and are read in their turn', () => {
  const world = new World({
    qmgrMessageRecipientLimit: 20,
    qmgrMessageActiveLimit: 2,
    qmgrMessageRecipientMinimum: 5,
    defaultRecipientLimit: 4,
    defaultExtraRecipientLimit: 0,
    defaultDestinationRecipientLimit: 10,
  })
  world.admit(['smtp', 'a.test', 20])
  expect(world.scheduler.hasRoom).toBe(false)
  const late = world.admit(['smtp', 'b.test', 3])
  expect(world.scheduler.recipientCount).toBe(20)
  expect(world.next()).toMatchObject({ nexthop: 'a.test' })
  world.report(world.underWay[0]!, 'ok')
  expect(world.fill()).toMatchObject([{ nexthop: 'a.test' }, { message: late, recipients: [0, 1, 2] }])
})

test('a batch that comes later is used when it is there', () => {
  const world = new World()
  world.reluctant = true
  const letter = world.admit(['smtp', 'a.test', 2])
  expect(world.next()).toBeUndefined()
  world.supply()
  expect(world.next()).toMatchObject({ message: letter, recipients: [0, 1] })
})

test('a withdrawn message is done at once when nothing of it is under way', () => {
  const world = new World()
  const letter = world.admit(['smtp', 'a.test', 60])
  world.withdraw(letter)
  expect(letter.done).toBe(true)
  expect(world.next()).toBeUndefined()
  expect(world.scheduler.activeCount).toBe(0)
})

test('a withdrawn message is done when what is under way comes back', () => {
  const world = new World()
  const letter = world.admit(['smtp', 'a.test', 120])
  const entry = world.next()!
  world.withdraw(letter)
  expect(letter.done).toBe(false)
  expect(world.next()).toBeUndefined()
  world.report(entry, 'ok')
  expect(letter.done).toBe(true)
})

test('a batch for a message that was withdrawn is ignored', () => {
  const world = new World()
  world.reluctant = true
  const letter = world.admit(['smtp', 'a.test', 1])
  world.scheduler.withdraw(letter)
  world.scheduler.supply(letter, { recipients: letter.recipients, complete: true }, 0)
  expect(letter.done).toBe(true)
  expect(world.scheduler.recipientCount).toBe(0)
})

test('a withdrawn message that waits for room is done at once', () => {
  const world = new World({
    qmgrMessageRecipientLimit: 1,
    qmgrMessageActiveLimit: 1,
    qmgrMessageRecipientMinimum: 1,
    defaultRecipientLimit: 0,
    defaultExtraRecipientLimit: 0,
  })
  world.admit(['smtp', 'a.test', 1])
  const [first, second] = [world.admit(['smtp', 'a.test', 1]), world.admit(['smtp', 'a.test', 1])]
  world.withdraw(first)
  expect(first.done).toBe(true)
  world.finish()
  expect(second.done).toBe(true)
})

test('a job that waits for its batch keeps its place among the others', () => {
  const world = new World({
    qmgrMessageRecipientLimit: 1,
    qmgrMessageRecipientMinimum: 2,
    defaultRecipientLimit: 0,
  })
  const letter = world.admit(['smtp', 'a.test', 1], ['lmtp', 'b.test', 1], ['smtp', 'c.test', 1])
  const entry = world.fill().find(({ transport }) => transport === 'smtp')!
  world.report(entry, 'ok')
  world.admit(['smtp', 'd.test', 1])
  world.reluctant = true
  world.fill()
  expect(world.promised).toMatchObject([{ letter, first: 2 }])
  expect(world.scheduler.inspect(({ id }) => id).jobs.get(`${letter.id}/smtp`)).toMatchObject({ level: 0 })
})

test('there is room for as many messages as the active limit says', () => {
  const world = new World({ qmgrMessageActiveLimit: 2 })
  world.admit(['smtp', 'a.test', 1])
  expect(world.scheduler.hasRoom).toBe(true)
  world.admit(['smtp', 'a.test', 1])
  expect(world.scheduler.hasRoom).toBe(false)
})

test('a delivery that is reported twice is a bug of the user', () => {
  const world = new World()
  world.admit(['smtp', 'a.test', 1])
  const entry = world.next()!
  world.scheduler.report(entry, 'ok', 0)
  expect(() => world.scheduler.report(entry, 'ok', 0)).toThrow('a delivery is reported once')
})

test('a message that is admitted twice is a bug of the user', () => {
  const world = new World()
  const letter = world.admit(['smtp', 'a.test', 1])
  expect(() => world.scheduler.admit(letter, 0, 0)).toThrow('a message is admitted once')
})

test('a batch that is larger than asked for is a bug of the user', () => {
  const world = new World({ qmgrMessageRecipientLimit: 1, qmgrMessageRecipientMinimum: 1 })
  world.reluctant = true
  const letter = world.admit(['smtp', 'a.test', 2])
  const batch = { recipients: letter.recipients, complete: true }
  expect(() => world.scheduler.supply(letter, batch, 0)).toThrow('a batch is not larger than asked for')
})

test('a job that stands before the current one gets its turn when its batch arrives', () => {
  const world = new World({
    qmgrMessageRecipientLimit: 1,
    qmgrMessageRecipientMinimum: 1,
    defaultProcessLimit: 1,
  })
  const early = world.admit(['smtp', 'a.test', 2])
  world.admit(['smtp', 'b.test', 1])
  world.reluctant = true
  world.report(world.next()!, 'ok')
  world.report(world.next()!, 'ok')
  world.supply()
  expect(world.next()).toMatchObject({ message: early, recipients: [1] })
})

test('a later batch fills the entry that waits, also behind a batch of which nothing was left', () => {
  const world = new World({
    defaultDestinationRateDelay: 1,
    defaultRecipientLimit: 0,
    defaultRecipientRefillDelay: 0,
    qmgrMessageRecipientLimit: 3,
    qmgrMessageRecipientMinimum: 3,
  })
  const hops = ['a.test', 'b.test', 'c.test', 'a.test', 'b.test', 'c.test', 'a.test']
  world.admit(...hops.map((nexthop) => ['smtp', nexthop, 1] as const))
  const [a, b, c] = world.fill()
  world.report(b!, 'ok')
  world.report(c!, 'ok')
  world.pass(500)
  world.report(a!, 'ok')
  world.pass(500)
  world.report(world.next()!, 'ok')
  world.fill()
  world.pass(500)
  expect(world.next()).toMatchObject({ nexthop: 'a.test', recipients: [3, 6] })
})
