/** `waybill/sim`: the simulated world, and crash tests of an embedder's transport. See
 * README.md. */
export { SimWorld, type RunOptions, type WorldOptions } from './world/world.js'
export { SimClock } from './world/world.js'
export { SimDisk, type DiskObserver, type NumberedOperation, type SimDiskOptions } from './disk/sim-disk.js'
export { DiskImage, type DeviceSize } from './disk/disk-image.js'
export type { CrashOptions, CrashState } from './disk/crash-states.js'
export type { EventOrder } from './world/event-queue.js'
export type { Fault } from './disk/faults.js'
export type { Operation, OperationKind } from './disk/operation.js'
export { describeOperation } from './disk/operation.js'
export { simulate, type Simulation, type SimulateOptions, type SimulatedCrash } from './simulate.js'
