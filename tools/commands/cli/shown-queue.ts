/** A queue as people read it: the URL of a store without its password. */
import { isStoreUrl } from '../../../src/store/is-store-url.js'
import { namingHint } from './queue-path.js'

/** Up to the last '@': one that was not encoded has others. */
const password = /^([a-z]+:\/\/[^:@/?]*):.*@/
const passwordParameter = /([?&])password=[^&]*&?/g

export const hasPassword = (url: string): boolean =>
  password.test(url) || url.replace(passwordParameter, '$1') !== url

export const shownQueue = (place: string): string =>
  isStoreUrl(place) ? place.replace(password, '$1@').replace(passwordParameter, '$1') : place

/** @param reason '' where nothing lies there */
export const noQueueText = (path: string, reason: string): string =>
  `no queue at ${shownQueue(path)}${reason === '' ? '' : `: ${reason}`}${namingHint(path)}`
