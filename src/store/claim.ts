/** Takes a queue: watches its owner, and claims what has none.
 * Invariant: a claim names the epoch that was looked at, so of several nodes that claim at once
 * one is refused. A claim whose answer was lost is asked after by the nonce that it wrote. Each
 * look follows a commit of this node's own, for owner-watch.ts counts silence only while this node
 * can commit. */
import { pause, type Clock } from '../base/clock.js'
import { below, type Prng } from '../base/prng.js'
import { WaybillError } from '../errors.js'
import { unsafeReasons, type SafetyWay } from './replication-safety.js'
import type { Answer, Claimant, QueueRow, Session, Standing, Store } from './store.js'
import { Watch } from './owner-watch.js'

export interface ClaimOptions {
  readonly store: Store
  readonly clock: Clock
  readonly prng: Prng
  /** Name of the queue. */
  readonly queue: string
  readonly node: string
  /** An adopter takes queues of nodes that are gone. */
  readonly role: 'home' | 'adopter'
  /** Queues that this node has already. */
  readonly ownedCount: number
  readonly ttlMs: number
  readonly resumeMs: number
  readonly safety: SafetyWay
}

export interface Claimed {
  readonly claimant: Claimant
  readonly row: QueueRow
  readonly session: Session
  readonly epoch: number
  /** By the monotonic clock. */
  readonly askedMs: number
}

/** Looks in a ttl. */
const looksPerTtl = 8

/** @throws WaybillError QUEUE_LOCKED while its owner lives, STORE_UNREACHABLE, STORE_UNSAFE,
 * NOT_A_QUEUE */
export async function claimQueue(options: ClaimOptions): Promise<Claimed> {
  const { store, clock, node, resumeMs } = options
  const claimant = { nonce: store.newNonce(), node }
  const startedMs = clock.monotonicMs()
  let watch: Watch | undefined
  for (;;) {
    const found = await lookOn(options, claimant, (isHome) => (watch ??= watchOf(options, isHome)))
    if (found.kind === 'done') return found.value
    // Nothing that was seen before counts: this node could not commit for a while.
    watch?.forget()
    if (found.kind === 'refused')
      throw found.refusal.kind === 'failed' ? found.refusal.error : lockedBy(store)
    if (clock.monotonicMs() - startedMs >= resumeMs) throw unreachable(store, found.error)
    await pause(clock, options.ttlMs / looksPerTtl, undefined)
  }
}

const watchOf = ({ ttlMs, node, ownedCount, prng }: ClaimOptions, isHome: boolean): Watch => {
  const delayMs = isHome ? 0 : below(prng, Math.ceil((ttlMs / 4) * (1 + ownedCount)))
  return new Watch({ ttlMs, node, isHome, delayMs })
}

/** On one connection, for as long as it lasts. */
async function lookOn(
  options: ClaimOptions,
  claimant: Claimant,
  watchOn: (isHome: boolean) => Watch,
): Promise<Answer<Claimed>> {
  const { store, clock, node, ttlMs, role } = options
  const connection = await store.connect(claimant.nonce)
  if (connection.kind !== 'done') return connection
  const session = connection.value
  const found = await queueOn(session, options)
  if (found.kind !== 'done') return closed(session, found)
  const row = found.value
  const isHome = role === 'home' && (row.home ?? node) === node
  const watch = watchOn(isHome)
  for (;;) {
    const lookedMs = clock.monotonicMs()
    const presence = await session.present(node)
    if (presence.kind !== 'done') return closed(session, presence)
    if (clock.monotonicMs() - lookedMs > ttlMs / 4) watch.forget()
    const standing = await session.standing(row.queue)
    if (standing.kind !== 'done') return closed(session, standing)
    const verdict = watch.look(standing.value, clock.monotonicMs())
    if (verdict === 'owned') return closed(session, failed(locked(store, standing.value)))
    if (verdict === 'claim') {
      const askedMs = clock.monotonicMs()
      const epoch = await claimOn(session, row, standing.value, claimant, isHome)
      if (epoch.kind === 'done')
        return { kind: 'done', value: { claimant, row, session, epoch: epoch.value, askedMs } }
      if (epoch.kind === 'unknown') {
        session.close()
        return await askAfter(options, claimant, row)
      }
      if (epoch.refusal.kind !== 'fenced') return closed(session, epoch)
      watch.forget()
      // Somebody was faster, or the queue is removed: a claim of what is not there finds no row.
      const again = await queueOn(session, options)
      if (again.kind !== 'done') return closed(session, again)
      if (again.value.queue !== row.queue) return closed(session, failed(noQueue(store, options.queue)))
    }
    await pause(clock, ttlMs / looksPerTtl, undefined)
  }
}

async function claimOn(
  session: Session,
  row: QueueRow,
  standing: Standing,
  claimant: Claimant,
  isHome: boolean,
): Promise<Answer<number>> {
  // Changes of the old owner that overlap could keep the claim waiting.
  if (standing.nonce !== undefined && standing.isConnected) {
    const expelled = await session.expel(standing.nonce)
    if (expelled.kind === 'unknown') return expelled
  }
  return session.claim({ queue: row.queue, epoch: standing.epoch }, claimant, isHome)
}

/** Nobody knows whether the claim happened: it did when the queue bears its nonce. */
async function askAfter(
  { store, clock }: ClaimOptions,
  claimant: Claimant,
  row: QueueRow,
): Promise<Answer<Claimed>> {
  const connection = await store.connect(claimant.nonce)
  if (connection.kind !== 'done') return connection
  const session = connection.value
  const askedMs = clock.monotonicMs()
  const epoch = await session.resume(row.queue, claimant.nonce)
  if (epoch.kind === 'done')
    return { kind: 'done', value: { claimant, row, session, epoch: epoch.value, askedMs } }
  session.close()
  if (epoch.kind === 'unknown' || epoch.refusal.kind !== 'fenced') return epoch
  const error = new WaybillError('STORE_UNREACHABLE', 'a claim was not answered', { directory: store.name })
  return { kind: 'unknown', error }
}

async function queueOn(session: Session, { store, queue, safety }: ClaimOptions): Promise<Answer<QueueRow>> {
  const found = await session.queueNamed(queue)
  if (found.kind !== 'done') return found
  if (found.value === undefined) return failed(noQueue(store, queue))
  if (safety === 'required') {
    const facts = await session.safety()
    if (facts.kind !== 'done') return facts
    const reasons = unsafeReasons(facts.value)
    if (reasons.length > 0) return failed(unsafe(store, reasons))
  }
  return { kind: 'done', value: found.value }
}

function closed<T>(session: Session, answer: Answer<T>): Answer<never> {
  session.close()
  return answer as Answer<never>
}

const failed = (error: WaybillError): Answer<never> => ({
  kind: 'refused',
  refusal: { kind: 'failed', error },
})

export const noQueue = (store: Store, queue: string): WaybillError =>
  new WaybillError('NOT_A_QUEUE', `the store has no queue '${queue}'; \`waybill store init\` makes one`, {
    directory: store.name,
  })

const unsafe = (store: Store, reasons: readonly string[]): WaybillError =>
  new WaybillError(
    'STORE_UNSAFE',
    `what the store commits may be on one machine only: ${reasons.join('; ')}`,
    { directory: store.name },
  )

function locked(store: Store, { node, address }: Standing): WaybillError {
  const where = address === undefined ? '' : ` at ${address}`
  return new WaybillError('QUEUE_LOCKED', `node ${node ?? '?'}${where} runs this queue`, {
    directory: store.name,
  })
}

const lockedBy = (store: Store): WaybillError =>
  new WaybillError('QUEUE_LOCKED', 'another process runs this queue', { directory: store.name })

const unreachable = (store: Store, cause: WaybillError): WaybillError =>
  new WaybillError('STORE_UNREACHABLE', cause.message, { directory: store.name }, cause)
