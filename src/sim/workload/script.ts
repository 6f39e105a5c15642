/** A recipient's fate is written in its address, where every life of a run sees it.
 *
 * | local part | what the transport answers |
 * |---|---|
 * | `ok…` | delivered |
 * | `defer2…` | deferred while fewer than 2 attempts were made, then delivered |
 * | `fail1…` | deferred while fewer than 1 attempt was made, then failed |
 * | `site1…` | trouble of the site while fewer than 1 attempt was made, then delivered |
 * | `throw1…` | rejects while fewer than 1 attempt was made, then delivered |
 * | `hang1…` | never answers while fewer than 1 attempt was made, then delivered |
 * | `never…` | deferred for ever: it expires |
 * | `fatal…` | ends the process in this step | */

export type Answer = 'delivered' | 'deferred' | 'failed' | 'site' | 'throw' | 'hang' | 'fatal'

type Verb = 'ok' | 'defer' | 'fail' | 'site' | 'throw' | 'hang' | 'never' | 'fatal'

const pattern = /^(ok|defer|fail|site|throw|hang|never|fatal)([0-9]*)/

/** @param attempts made before this one */
export function scripted(address: string, attempts: number): Answer {
  const [, matched, digits] = pattern.exec(address) ?? []
  const verb = matched as Verb | undefined
  const turns = Number(digits === '' ? 0 : digits)
  switch (verb) {
    case 'never':
      return 'deferred'
    case 'fail':
      return attempts < turns ? 'deferred' : 'failed'
    case 'defer':
      return attempts < turns ? 'deferred' : 'delivered'
    case 'fatal':
      return verb
    case 'site':
    case 'throw':
    case 'hang':
      return attempts < turns ? verb : 'delivered'
    case 'ok':
    case undefined:
      return 'delivered'
  }
}

/** Its end without orders. */
export function scriptedEnd(address: string): 'delivered' | 'failed' | 'expired' {
  if (address.startsWith('never')) return 'expired'
  return address.startsWith('fail') ? 'failed' : 'delivered'
}
