/** Applies an operator's order to the promises about a message.
 * Invariant: a promise that an order may break ends at the call; one that it makes begins when it
 * has settled. In between the order may have been carried out or not. */
import type { ModelMessage, Ordered } from './model-message.js'
import { otherNexthop, type VerbName } from '../workload/workload.js'

export const isOrdered = ({ orders }: ModelMessage, verb: VerbName): boolean =>
  orders.some((ordered) => ordered.verb === verb)

/** Verbs that make a message due at once. */
export const movesTime = (verb: VerbName): boolean =>
  verb === 'release' || verb === 'requeue' || verb === 'reroute' || verb === 'flush'

/** @param wallMs now */
export function order(message: ModelMessage, verb: VerbName, wallMs: number): void {
  for (const other of message.orders) other.isAlone = false
  message.orders.push({ verb, isAlone: message.orders.length === 0 })
  if (verb === 'hold') message.mayBeHeld = true
  if (verb === 'release' || verb === 'requeue') message.held = false
  if (verb === 'requeue' || verb === 'reroute') message.nexthop = undefined
  if (verb === 'reroute') message.mayBeRerouted = true
  if (verb === 'requeue') {
    message.attempts = undefined
    message.mayBeNew = true
    message.askedAtMs = Math.min(message.askedAtMs, wallMs)
  }
  if (!movesTime(verb)) return
  for (const recipient of message.recipients.values()) {
    recipient.notBeforeMs = 0
    recipient.attemptsMin = 0
  }
}

/** It has settled with unknown effect. */
export function dropOrder(message: ModelMessage, verb: VerbName): void {
  takeOrder(message, verb)
}

function takeOrder(message: ModelMessage, verb: VerbName): Ordered | undefined {
  const { orders } = message
  // An attempt from before it was carried out may have been the last.
  if (verb === 'requeue') message.attempts = undefined
  const index = orders.findIndex((ordered) => ordered.verb === verb)
  return index < 0 ? undefined : orders.splice(index, 1)[0]
}

export function obey(message: ModelMessage, verb: VerbName): void {
  const settled = takeOrder(message, verb)
  // The last of concurrent orders is unknown.
  if (settled?.isAlone !== true) return
  if (verb === 'hold') message.held = true
  if (verb === 'reroute') message.nexthop = otherNexthop
}
