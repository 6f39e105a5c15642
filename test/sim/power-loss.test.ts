import { expect, test } from 'vitest'
import { afterPowerLoss, fate, fates, live, overwrite, sector, writeDurably } from './fixture.js'

const old = sector('o')
const young = sector('y')

test('an unsynced write may be kept or lost', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', old)
    await overwrite(on, 'a', young)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([old.toString(), young.toString()])
})

test('a synced write is never lost', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', old)
    await overwrite(on, 'a', young, 0, true)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([young.toString()])
})

test('a write to a synced file is never lost once it resolved', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', old)
    const file = await on.open('a', 'synced')
    await file.write(young, 0)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([young.toString()])
})

test('a write to a synced file says nothing about an earlier one that was not synced', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.concat([old, old]))
    await overwrite(on, 'a', young)
    const file = await on.open('a', 'synced')
    await file.write(young, 512)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([
    `${old.toString()}${young.toString()}`,
    `${young.toString()}${young.toString()}`,
  ])
})

test('a write is torn by sector, each sector on its own', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.alloc(1536, 'o'))
    await overwrite(on, 'a', Buffer.alloc(1536, 'y'))
  })
  const firstBytes = afterPowerLoss(disk).map((image) => {
    const bytes = image.bytes('a')
    return [bytes[0], bytes[512], bytes[1024]].map((byte) => String.fromCharCode(byte ?? 0)).join('')
  })
  expect(firstBytes.sort()).toEqual(['ooo', 'ooy', 'oyo', 'oyy', 'yoo', 'yoy', 'yyo', 'yyy'])
})

test('a sector of 4096 bytes is torn nowhere inside', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.alloc(4096, 'o'))
    await overwrite(on, 'a', Buffer.alloc(4096, 'y'))
  })
  expect(fates(afterPowerLoss(disk, { sectorBytes: 4096 }), 'a')).toHaveLength(2)
})

test('of two writes to one sector the later never survives without the earlier', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', sector('o'))
    await overwrite(on, 'a', Buffer.from('1'), 0)
    await overwrite(on, 'a', Buffer.from('2'), 1)
  })
  const starts = fates(afterPowerLoss(disk), 'a').map((content) => content.slice(0, 2))
  expect(starts).toEqual(['12', '1o', 'oo'])
})

test('a torn sector may hold garbage, beside what was written too unless that is ruled out', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', sector('o'))
    await overwrite(on, 'a', Buffer.from('y'), 100)
  })
  const neighbours = (garbage: 'sector' | 'written'): string[] =>
    fates(afterPowerLoss(disk, { garbage }), 'a').map((content) => content.slice(0, 100))
  expect(neighbours('written').every((bytes) => bytes === 'o'.repeat(100))).toBe(true)
  expect(neighbours('sector').some((bytes) => bytes !== 'o'.repeat(100))).toBe(true)
  expect(fates(afterPowerLoss(disk, { garbage: 'written' }), 'a')).toHaveLength(3)
})

test('the length of a file that grew may be lost without the bytes, and the bytes without the length', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('old'))
    await overwrite(on, 'a', Buffer.from('new'), 3)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['old', 'old\0\0\0', 'oldnew'])
})

test('a cut that was not synced may be lost', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('content'))
    const file = await on.open('a', 'write')
    await file.truncate(3)
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['con', 'content'])
})

test('a new name is lost without a sync of its directory, even when the file was synced', async () => {
  const { disk } = await live(async (on) => {
    const file = await on.open('a', 'create')
    await file.write(Buffer.from('content'), 0)
    await file.sync()
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['content', 'gone'])
})

test('a name survives a sync of its directory, its content only a sync of the file', async () => {
  const { disk } = await live(async (on) => {
    const file = await on.open('a', 'create')
    await file.write(Buffer.from('content'), 0)
    await on.syncDirectory('')
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['', '\0\0\0\0\0\0\0', 'content'])
})

test('a rename within a directory happens as a whole or not at all', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('new'))
    await writeDurably(on, 'b', Buffer.from('old'))
    await on.rename('a', 'b')
  })
  const states = afterPowerLoss(disk).map((image) => `${fate(image, 'a')} ${fate(image, 'b')}`)
  expect(states.sort()).toEqual(['gone new', 'new old'])
})

test('a rename between directories may leave both names, never none', async () => {
  const { disk } = await live(async (on) => {
    await on.makeDirectory('d')
    await on.syncDirectory('')
    await writeDurably(on, 'a', Buffer.from('content'))
    await on.rename('a', 'd/a')
  })
  const states = afterPowerLoss(disk).map((image) => image.files().join(' '))
  expect(states.sort()).toEqual(['a', 'a d/a', 'd/a'])
})

test('a removed file comes back when its directory was not synced', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('content'))
    await on.unlink('a')
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['content', 'gone'])
})

test('changes of one directory survive in any order, or in order when the file system keeps one', async () => {
  const { disk } = await live(async (on) => {
    for (const name of ['a', 'b']) await (await on.open(name, 'create')).close()
  })
  const left = (namesInOrder: boolean): string[] =>
    afterPowerLoss(disk, { namesInOrder }).map((image) => image.files().join(''))
  expect(left(false).sort()).toEqual(['', 'a', 'ab', 'b'])
  expect(left(true).sort()).toEqual(['', 'a', 'ab'])
})

test('a directory that was not synced into its parent takes its files with it', async () => {
  const { disk } = await live(async (on) => {
    await on.makeDirectory('d')
    await writeDurably(on, 'd/a', Buffer.from('content'))
  })
  expect(fates(afterPowerLoss(disk), 'd/a')).toEqual(['content', 'gone'])
})

test('a sync does not cover a write that was under way when it started', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', old)
    const file = await on.open('a', 'write')
    await Promise.all([file.write(young, 0), file.sync()])
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual([old.toString(), young.toString()])
})

test('a call that is under way may have happened, in part or not at all', async () => {
  const { disk, world } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.alloc(1024, 'o'))
  })
  const file = await world.settle(disk.open('a', 'synced'))
  void file.write(Buffer.alloc(1024, 'y'), 0)
  void disk.rename('a', 'b')
  const states = afterPowerLoss(disk).map((image) =>
    image.files().map((path) => `${path} ${fate(image, path).at(0)}${fate(image, path).at(-1)}`),
  )
  expect(states.flat().sort()).toEqual(['a oo', 'a oy', 'a yo', 'a yy', 'b oo', 'b oy', 'b yo', 'b yy'])
  await world.run()
})

test('what power loss leaves is durable: losing power again changes nothing', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.alloc(1024, 'o'))
    await overwrite(on, 'a', Buffer.alloc(1024, 'y'))
  })
  for (const image of afterPowerLoss(disk)) {
    const second = await live(async () => undefined, { image })
    expect(fates(afterPowerLoss(second.disk), 'a')).toEqual(fates([image], 'a'))
  }
})

test('states are of the moment they were asked for, whatever happens before they are taken', async () => {
  const { disk, world } = await live(async (on) => {
    await writeDurably(on, 'a', old)
  })
  const states = disk.crashStates()
  await world.settle(overwrite(disk, 'a', young, 0, true))
  const images = Array.from(states, (state) => state.image)
  expect(fates(images, 'a')).toEqual([old.toString()])
})

test('a sync of a directory does not cover a name that was under way when it started', async () => {
  const { disk } = await live(async (on) => {
    await Promise.all([on.open('a', 'create'), on.syncDirectory('')])
  })
  expect(fates(afterPowerLoss(disk), 'a')).toEqual(['', 'gone'])
})

test('a sync of the directory that a file was moved from makes its new name durable too', async () => {
  const { disk } = await live(async (on) => {
    await on.makeDirectory('d')
    await on.syncDirectory('')
    await writeDurably(on, 'a', Buffer.from('content'))
    await on.rename('a', 'd/a')
    await on.syncDirectory('')
  })
  expect(afterPowerLoss(disk).map((image) => image.files())).toEqual([['d/a']])
})

test('bytes behind a length that was lost do not come back when the file grows again', async () => {
  const { disk } = await live(async (on) => {
    await writeDurably(on, 'a', Buffer.from('old'))
    await overwrite(on, 'a', Buffer.from('new'), 3)
  })
  const cut = afterPowerLoss(disk).filter((image) => fate(image, 'a') === 'old')
  expect(cut).toHaveLength(2)
  for (const image of cut) {
    await live(async (on) => (await on.open('a', 'write')).truncate(6), { image })
    expect(fate(image, 'a')).toBe('old\0\0\0')
  }
})

test('a device is as small after a crash as before', async () => {
  const size = { capacityBytes: 8192, capacityFiles: 3 }
  const { disk } = await live(async (on) => writeDurably(on, 'a', old), { size })
  const states = [...disk.crashStates(), ...disk.killStates()]
  expect(states).toHaveLength(2)
  for (const { image } of states) expect(image.space()).toEqual({ freeBytes: 4096, freeFiles: 2 })
})
