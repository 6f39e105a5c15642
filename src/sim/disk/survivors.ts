/** Chooses sets of changes that survive a power loss.
 * Invariant: a set never holds a unit without what it requires. Up to `exhaustiveUnitsMax` units,
 * all sets; beyond that none, all, every prefix, every single loss, every single survivor and
 * random sets, each family sampled evenly when together they are more than `statesMax`. The same
 * units and the same generator give the same sets in the same order. */
import { below, type Prng } from '../../base/prng.js'

export interface SurvivorBounds {
  /** 2 to this power sets are tried at most. */
  readonly exhaustiveUnitsMax: number
  readonly randomStates: number
  readonly statesMax: number
}

export interface Survivors {
  readonly kept: readonly boolean[]
  /** The unit whose place holds garbage, neither old nor new. */
  readonly garbage: number | undefined
}

/** For each unit the smaller indexes of those that survive whenever it does. */
export type Requirements = readonly (readonly number[])[]

type Family = (index: number) => Survivors

/** @param garbageUnits the units that may leave garbage */
export function* survivorSets(
  requires: Requirements,
  garbageUnits: readonly number[],
  bounds: SurvivorBounds,
  prng: Prng,
): Generator<Survivors> {
  const count = requires.length
  const only = (kept: readonly boolean[]): Survivors => ({ kept, garbage: undefined })
  const fill = (of: (unit: number) => boolean): boolean[] =>
    Array.from({ length: count }, (_, unit) => of(unit))
  const garbage: Family = (index) => {
    const unit = garbageUnits[index] as number
    const others = index % 2 === 0 ? fill(() => true) : fill(() => below(prng, 2) === 0)
    return { kept: withoutOrphans(others, requires), garbage: unit }
  }

  if (count <= bounds.exhaustiveUnitsMax) {
    for (let set = 0; set < 2 ** count; set++) {
      const kept = fill((unit) => ((set >> unit) & 1) === 1)
      if (isClosed(kept, requires)) yield only(kept)
    }
    for (let index = 0; index < garbageUnits.length; index++) yield garbage(index)
    return
  }

  yield only(fill(() => false))
  yield only(fill(() => true))
  const prefix: Family = (index) => only(fill((unit) => unit <= index))
  const loss: Family = (index) =>
    only(
      withoutOrphans(
        fill((unit) => unit !== index),
        requires,
      ),
    )
  const survivor: Family = (index) =>
    only(
      withRequired(
        fill((unit) => unit === index),
        requires,
      ),
    )
  const random: Family = () =>
    only(
      withoutOrphans(
        fill(() => below(prng, 2) === 0),
        requires,
      ),
    )
  const families: readonly (readonly [Family, number])[] = [
    [prefix, count - 1],
    [loss, count],
    [survivor, count],
    [random, bounds.randomStates],
    [garbage, garbageUnits.length],
  ]
  const total = families.reduce((sum, [, size]) => sum + size, 0)
  const budget = Math.min(total, Math.max(0, bounds.statesMax - 2))
  let offered = 0
  for (const [family, size] of families) {
    const already = Math.floor((offered * budget) / total)
    offered += size
    const taken = Math.floor((offered * budget) / total) - already
    for (let turn = 0; turn < taken; turn++) {
      const from = Math.floor((turn * size) / taken)
      const end = Math.floor(((turn + 1) * size) / taken)
      yield family(from + below(prng, end - from))
    }
  }
}

function isClosed(kept: readonly boolean[], requires: Requirements): boolean {
  return requires.every((needed, unit) => !kept[unit] || needed.every((other) => kept[other]))
}

/** Drops units without their requirements. */
function withoutOrphans(kept: boolean[], requires: Requirements): boolean[] {
  for (const [unit, needed] of requires.entries()) {
    if (kept[unit] && !needed.every((other) => kept[other])) kept[unit] = false
  }
  return kept
}

/** Adds the requirements of kept units. */
function withRequired(kept: boolean[], requires: Requirements): boolean[] {
  for (let unit = kept.length - 1; unit >= 0; unit--) {
    if (kept[unit]) for (const other of requires[unit] ?? []) kept[other] = true
  }
  return kept
}
