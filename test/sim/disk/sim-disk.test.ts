import { SimDisk } from '../../../src/sim/disk/sim-disk.js'
import { SimWorld } from '../../../src/sim/world/world.js'
import { diskContract } from '../../disk/contract.js'

for (const seed of [1, 2, 3]) {
  diskContract(`simulated disk, seed ${seed}`, async () => {
    const world = new SimWorld({ seed })
    const disk = new SimDisk(world)
    return {
      disk,
      reopen: () => new SimDisk(world, { image: disk.image }),
      settle: (promise) => world.settle(promise),
      remove: async () => disk.abandon(),
    }
  })
}
diskContract('simulated store', async () => {
  const world = new SimWorld({ seed: 4 })
  const disk = new SimDisk(world, { mode: 'store' })
  return {
    disk,
    reopen: () => new SimDisk(world, { image: disk.image, mode: 'store' }),
    settle: (promise) => world.settle(promise),
    remove: async () => disk.abandon(),
  }
})
diskContract('simulated disk, in order', async () => {
  const world = new SimWorld({ seed: 0, order: 'fifo' })
  const disk = new SimDisk(world)
  return {
    disk,
    reopen: () => new SimDisk(world, { image: disk.image }),
    settle: (promise) => world.settle(promise),
    remove: async () => disk.abandon(),
  }
})
