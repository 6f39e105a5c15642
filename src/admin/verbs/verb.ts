/** The common part of all verbs: a selector in, counts out. */
import { checkOptionNames } from '../../base/options.js'
import type { OpenedEngine } from '../../engine/open.js'
import { checkSelector, type Selector } from '../select/selector.js'
import { WaybillError } from '../../errors.js'
import { compactHold, giveWay } from './compaction.js'
import { dryRun } from './dry-run.js'
import { goThrough, type Verb } from './pass.js'
import { Tally, verbOptionNames, type VerbOptions, type VerbResult } from './tally.js'

/** @throws WaybillError OPTION_INVALID: a selector for everything must be explicit */
export function requireSelection(selector: Selector): void {
  if (typeof selector !== 'object' || selector === null || Object.keys(selector).length === 0)
    throw new WaybillError('OPTION_INVALID', 'a verb needs a selector; { all: true } selects every message', {
      option: 'selector',
    })
  checkSelector(selector)
}

/** Carries a verb out, then compacts if needed. */
export async function carryOut(
  opened: OpenedEngine,
  selector: Selector,
  verb: Verb,
  options: VerbOptions,
): Promise<VerbResult> {
  requireSelection(selector)
  checkOptionNames(options, verbOptionNames)
  const { life, lanes } = opened.parts
  const tally = new Tally(options)
  if (tally.isDryRun) return life.orEnd(dryRun(opened, selector, verb, tally))
  // A single message that moves meanwhile is found by the next pass.
  if (selector.id === undefined && verb.isAsked?.(lanes.hold) !== false) giveWay(opened)
  const result = await life.orEnd(goThrough(opened, selector, verb, tally))
  life.run(compactHold(opened))
  return result
}
