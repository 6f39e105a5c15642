/** Guarantees of outcomes: a consumer gets each durable one, in order, at least once. */
import { one, type Mutation } from './mutation.js'

export const outcomeMutations: readonly Mutation[] = [
  one(
    'done-when-given',
    'a consumer is done with an outcome when it asks for the next one',
    'engine/outcomes/consume.js',
    'yield item;',
    'reading.done(item); yield item;',
  ),
  one(
    'given-up-not-told',
    'the record of recipients that are given up says so to consumers',
    'engine/settle/deferred.js',
    'options.clock.wallMs(), told)',
    'options.clock.wallMs())',
  ),
  one(
    'begun-before-not-told',
    'attempts that were under way when the first consumer came are told',
    'engine/deliver/outcome-room.js',
    '!this.#outcomes.isOn || ',
    'true || ',
  ),
]
