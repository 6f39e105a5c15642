/** One run of the nodes of a store, as a hunt reports it. */
import { failovers, kills, pairs } from '../store/append-cases.js'
import { oneAppend } from '../store/one-append.js'
import { storeWorldRun, type StoreWorldKind } from '../store/store-world.js'
import type { HuntResult } from './exhaustive.js'

export async function nodesRun(seed: number, kind: StoreWorldKind): Promise<HuntResult> {
  const { broken, doubledCount, acceptedCount, failoverCount, takeoverCount } = await storeWorldRun(
    seed,
    kind,
  )
  return {
    operationCount: acceptedCount,
    crashCount: failoverCount + takeoverCount,
    duplicateCount: doubledCount,
    recoveredCount: takeoverCount,
    findings: broken === undefined ? [] : [{ ...broken, seed, op: 0, secondOp: undefined, where: kind }],
  }
}

/** All cases of one append. @param salt for the chances in them */
export async function appendRun(salt: number): Promise<HuntResult> {
  const result: HuntResult = {
    operationCount: 0,
    crashCount: 0,
    duplicateCount: 0,
    recoveredCount: 0,
    findings: [],
  }
  for (const given of [...failovers, ...pairs, ...kills]) {
    const seed = given.seed + salt * seedsApart
    const wrong = await oneAppend({ ...given, seed })
    result.crashCount++
    if (wrong === undefined) continue
    const where = JSON.stringify(given)
    result.findings.push({ oracle: 'O2', text: wrong, seed: salt, op: 0, secondOp: undefined, where })
    break
  }
  return result
}

const seedsApart = 1000
