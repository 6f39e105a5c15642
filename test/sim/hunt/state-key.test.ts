import { expect, test } from 'vitest'
import { copyImage } from '../../../src/sim/disk/copy.js'
import { DiskImage } from '../../../src/sim/disk/disk-image.js'
import { anyLife } from '../../../src/sim/model/model-life.js'
import { QueueModel } from '../../../src/sim/model/queue-model.js'
import { imageKey, momentKey, TriedStates } from '../../../src/sim/hunt/state-key.js'

function image(): DiskImage {
  const made = new DiskImage()
  made.makeDirectory('a')
  made.create('a/x').write(Buffer.alloc(9000, 1), 0, made.nextSeq())
  made.create('a/y').write(Buffer.from('y'), 0, made.nextSeq())
  made.directory('').sync(made.seq)
  made.directory('a').sync(made.seq)
  made.file('a/x').sync(made.seq)
  made.create('a/z')
  made.file('a/x').write(Buffer.from('not durable'), 100, made.nextSeq())
  return made
}

test('a copy, and an image to which the same was done later, have the same key', () => {
  const later = new DiskImage()
  later.seq = 1000
  expect(imageKey(copyImage(image()).image)).toBe(imageKey(image()))
  later.makeDirectory('a')
  expect(imageKey(later)).not.toBe(imageKey(image()))
  const first = new DiskImage()
  first.makeDirectory('a')
  expect(imageKey(later)).toBe(imageKey(first))
})

const changes: Readonly<Record<string, (image: DiskImage) => unknown>> = {
  'a byte': (of) => of.flipBit('a/y', 0, 3),
  'a byte that the device alone has otherwise': (of) => {
    const file = of.file('a/x')
    const { cached } = file
    of.flipBit('a/x', 8500, 0)
    file.cached = cached
  },
  'a length': (of) => of.file('a/z').truncate(10, of.nextSeq()),
  'zeroes in the place of a hole': (of) => {
    of.file('a/x').truncate(20_000, of.nextSeq())
    of.file('a/x').write(Buffer.alloc(4096), 12_288, of.nextSeq())
  },
  'a hole there': (of) => of.file('a/x').truncate(20_000, of.nextSeq()),
  'a write of what is there': (of) => of.file('a/y').write(Buffer.from('y'), 0, of.nextSeq()),
  'a sync of a file': (of) => of.file('a/x').sync(of.seq),
  'a sync of a directory': (of) => of.directory('a').sync(of.seq),
  'a failed sync': (of) => of.file('a/x').failSync(of.seq),
  'a failed sync of a directory': (of) => of.directory('a').failSync(of.seq),
  'a name': (of) => of.create('a/w'),
  'another name': (of) => of.rename('a/z', 'a/w'),
  'a name less': (of) => of.unlink('a/y'),
  'a name that goes and comes': (of) => {
    of.unlink('a/y')
    of.create('a/y')
  },
  'names in another order': (of) => {
    const { names } = of.directory('a')
    const node = names.get('x')!
    names.delete('x')
    names.set('x', node)
  },
  room: (of) => of.leave(4096),
}

test('whatever a call or a crash could tell apart has a key of its own', () => {
  const known = new Map([[imageKey(image()), 'nothing']])
  const alike = Object.entries(changes).flatMap(([what, change]) => {
    const changed = image()
    change(changed)
    const key = imageKey(changed)
    const other = known.get(key)
    known.set(key, what)
    return other === undefined ? [] : [`${what}: ${other}`]
  })
  expect(alike).toEqual([])
})

test('a state is tried once, as long as no promise was given and no time has gone meanwhile', () => {
  const model = new QueueModel()
  const moment = momentKey({ model, wallMs: 1 })
  const tried = new TriedStates()
  expect([tried.add(moment, image()), tried.add(moment, image())]).toEqual([true, false])
  expect(tried.add(momentKey({ model, wallMs: 2 }), image())).toBe(true)
  model.asked('m', ['r@b'], Buffer.from('data'), 0)
  expect(tried.add(momentKey({ model, wallMs: 1 }), image())).toBe(true)
  expect(tried.count).toBe(3)
})

const keyOf = (model: QueueModel): string => momentKey({ model, wallMs: 0 })

test('whatever the model learns has a key of its own, and a copy has that of its model', () => {
  const model = new QueueModel()
  const known = new Set([keyOf(model)])
  const learns: readonly ((of: QueueModel) => unknown)[] = [
    (of) => of.beginLife({ ...anyLife, delivers: false }),
    (of) => of.asked('m', ['r@a', 's@a'], Buffer.from('data'), 5),
    (of) => of.settled('m', 'id'),
    (of) =>
      of.attempted({
        id: 'id',
        sender: 'm',
        recipients: ['r@a'],
        attempts: 1,
        nexthop: 'a',
        wallMs: 6,
        nowMs: 6,
        syncedWriteMs: 0,
        isProven: true,
      }),
    (of) => of.answered('id', 'r@a', true),
    (of) =>
      of.recorded(
        'delivered',
        { id: 'id', sender: 'm', recipients: ['r@a'] },
        { appendedBytes: 100, nowMs: 7, notBeforeMs: 0, attempts: 1 },
      ),
    (of) => of.durable(100),
    (of) => of.heldByQueue('id'),
    (of) => of.clockStepped(-1000, 7, 1e9),
  ]
  for (const learn of learns) {
    learn(model)
    expect(known.has(keyOf(model))).toBe(false)
    known.add(keyOf(model))
    expect(keyOf(model.copy())).toBe(keyOf(model))
  }
})
