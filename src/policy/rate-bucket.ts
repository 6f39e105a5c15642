/** The turns of deliveries under one rate. Pure.
 * Invariant: 1. In no time of `perMs` do more than `count` begin. 2. A delivery that waits changes
 * no count.
 * Why a tenth at once and the rest evenly: a start knows nothing of the life before, and begins
 * with one. So each crash costs at most one delivery too many, and no count has to be durable. */
import type { Rate } from './rate.js'

/** How a delivery comes to its limits. `new`: for the first time; it gets a turn behind those
 * before it. `early`: from a lane, before its turn, which comes within `withinMs`. `before`: before
 * its turn, which it keeps if it cannot begin, and no earlier one is free. `due`: at its turn. */
export type Coming =
  | { readonly kind: 'new' | 'due' }
  | { readonly kind: 'early'; readonly withinMs: number }
  | { readonly kind: 'before'; readonly turnMs: number }

/** After so long without a delivery that asks, those that have a turn will not come. */
const idleGaps = 10
const idleMsMin = 10_000

/** Those that come from lanes get turns a little too near: where too few come, turns are lost. */
const earlyShare = 0.8

/** Sums of parts are not exact. */
const nearlyOne = 1 - 1e-9

export interface Bucket extends Rate {
  /** Deliveries that may begin at once, at the most. */
  readonly burst: number
  /** Between two, when more want to begin. */
  readonly gapMs: number
  tokens: number
  seenMs: number
  /** Of each priority, until when the turns of new ones are given away. */
  readonly promisedMs: Float64Array
  /** The same of those that came at their turn, and had to go again: one that came early had it. */
  readonly crowdedMs: Float64Array
  /** When the next turn is that one waits for which had to go again. */
  headMs: number
  /** When it ends. */
  untilMs: number
}

/** May one begin now? */
export const hasToken = ({ tokens }: Bucket): boolean => tokens >= nearlyOne

/** Within `perMs` a bucket that was full lets `burst` begin, and one more each `gapMs`: `count`. */
export function bucketOf<Name extends Rate>(
  limit: Name,
  tokens: number,
  seenMs: number,
  untilMs: number,
): Name & Bucket {
  const burst = Math.max(1, Math.floor(limit.count / 10))
  const gapMs = limit.perMs / (limit.count + 1 - burst)
  const [promisedMs, crowdedMs] = [new Float64Array(3), new Float64Array(3)]
  return { ...limit, burst, gapMs, tokens, seenMs, promisedMs, crowdedMs, headMs: 0, untilMs }
}

export function fill(bucket: Bucket, nowMs: number): void {
  const { burst, gapMs, seenMs } = bucket
  const idleMs = Math.max(0, nowMs - seenMs)
  if (idleMs > idleGaps * gapMs + idleMsMin) {
    bucket.promisedMs.fill(0)
    bucket.crowdedMs.fill(0)
    bucket.headMs = 0
  }
  bucket.tokens = Math.min(burst, bucket.tokens + idleMs / gapMs)
  bucket.seenMs = nowMs
}

/** When one may begin for which there is no token now: an estimate, for the bucket decides. */
export function turnIn(bucket: Bucket, band: number, coming: Coming, nowMs: number, chance: number): number {
  const { gapMs, headMs, tokens } = bucket
  const nextMs = nowMs + (1 - tokens) * gapMs
  if (coming.kind === 'early')
    return Math.max(nextMs, nowMs + chance * spreadMs(bucket, band, coming.withinMs, nowMs))
  if (isHead(bucket, coming, nowMs)) return nextMs
  const givenMs = givenTo(bucket, coming)
  let turnMs = coming.kind === 'due' ? headMs + gapMs : nextMs
  // Behind those that are as urgent, or more so.
  for (let n = 0; n <= band; n++) turnMs = Math.max(turnMs, givenMs[n]! + gapMs)
  return coming.kind === 'before' ? Math.min(turnMs, Math.max(nextMs, coming.turnMs)) : turnMs
}

/** Those that come early have their turns within this: before the last that was given, if one is
 * known. */
function spreadMs({ promisedMs, crowdedMs }: Bucket, band: number, withinMs: number, nowMs: number): number {
  let lastMs = 0
  for (let n = 0; n <= band; n++) lastMs = Math.max(lastMs, promisedMs[n]!, crowdedMs[n]!)
  const earlyMs = earlyShare * withinMs
  return lastMs === 0 ? earlyMs : Math.min(earlyMs, Math.max(0, lastMs - nowMs))
}

/** It waits for that turn, which no other gets. One that comes early has none, or keeps it. */
export function giveTurn(bucket: Bucket, band: number, coming: Coming, nowMs: number, turnMs: number): void {
  if (coming.kind === 'early' || (coming.kind === 'before' && turnMs >= coming.turnMs)) return
  if (isHead(bucket, coming, nowMs)) bucket.headMs = turnMs
  else givenTo(bucket, coming)[band] = turnMs
}

/** One at a time waits for the very next turn: so none is lost, and few ask for it. */
const isHead = ({ headMs }: Bucket, { kind }: Coming, nowMs: number): boolean =>
  kind === 'due' && headMs <= nowMs

const givenTo = ({ promisedMs, crowdedMs }: Bucket, { kind }: Coming): Float64Array =>
  kind === 'due' ? crowdedMs : promisedMs
