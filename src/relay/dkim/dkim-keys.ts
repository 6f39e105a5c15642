/** The keys that sign mail (DKIM, RFC 6376), by the domain that they speak for.
 * Invariant: a key is one that verifiers know: RSA of 1024 to 4096 bits (RFC 8301 §3.2), or
 * Ed25519 (RFC 8463). A domain has at most one of each kind, and both sign: many verifiers know
 * RSA alone. */
import { createPrivateKey, KeyObject } from 'node:crypto'
import { checkOptionNames } from '../../base/options.js'
import { WaybillError, type Place } from '../../errors.js'
import { asciiName } from '../tables/nexthop.js'

export interface DkimKey {
  /** The domain of authors whose mail the key signs, with the domains below it that have no nearer
   * key. At least two labels. */
  readonly domain: string
  /** The selector: the DNS has the public key in a TXT record of `SELECTOR._domainkey.DOMAIN`. */
  readonly selector: string
  /** In PEM without a passphrase, or as `createPrivateKey` of node:crypto makes it. RSA of 1024 to
   * 4096 bits, 2048 or more if you can, or Ed25519. */
  readonly privateKey: string | Buffer | KeyObject
}

export interface SigningKey {
  readonly domain: string
  readonly selector: string
  readonly privateKey: KeyObject
  /** As a signature names it. */
  readonly algorithm: 'rsa-sha256' | 'ed25519-sha256'
  /** Bits; undefined for Ed25519. */
  readonly rsaBits: number | undefined
}

const rsaBitsMin = 1024
const rsaBitsMax = 4096
/** Shorter ones are to be replaced. RFC 8301 §3.2 */
export const rsaBitsAdvised = 2048

const label = '[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?'
const selectorForm = new RegExp(`^${label}(?:\\.${label})*$`)
const domainForm = new RegExp(`^${label}(?:\\.${label})+$`)
const nameLengthMax = 253

/** @param place of what is wrong, for the error @throws WaybillError OPTION_INVALID */
function signingKey(key: DkimKey, place: Place): SigningKey {
  const bad = (reason: string): WaybillError => new WaybillError('OPTION_INVALID', reason, place)
  const domain = typeof key.domain === 'string' ? asciiName(key.domain) : ''
  const selector = typeof key.selector === 'string' ? key.selector.toLowerCase() : ''
  if (!domainForm.test(domain)) throw bad(`${JSON.stringify(key.domain)} is no domain of two labels or more`)
  if (!selectorForm.test(selector)) throw bad(`${JSON.stringify(key.selector)} is no selector`)
  const name = recordName(selector, domain)
  if (name.length > nameLengthMax) throw bad(`the DNS has no room for ${name}`)
  const privateKey = privateKeyOf(key.privateKey, place)
  const { asymmetricKeyType: kind, asymmetricKeyDetails: { modulusLength: rsaBits = 0 } = {} } = privateKey
  if (kind === 'ed25519')
    return { domain, selector, privateKey, algorithm: 'ed25519-sha256', rsaBits: undefined }
  if (kind !== 'rsa') throw bad(`the key is for ${kind ?? 'no signature'}, not RSA or Ed25519`)
  if (rsaBits < rsaBitsMin || rsaBits > rsaBitsMax)
    throw bad(`the key has ${rsaBits} bits: RFC 8301 asks for ${rsaBitsMin} to ${rsaBitsMax}`)
  return { domain, selector, privateKey, algorithm: 'rsa-sha256', rsaBits }
}

/** Where the DNS has the public key. */
export const recordName = (selector: string, domain: string): string => `${selector}._domainkey.${domain}`

function privateKeyOf(given: DkimKey['privateKey'], place: Place): KeyObject {
  if (given instanceof KeyObject) {
    if (given.type === 'private') return given
    throw new WaybillError('OPTION_INVALID', `the key is ${given.type}, not private`, place)
  }
  try {
    return createPrivateKey(given)
  } catch (error) {
    // What OpenSSL says of it may have to do with anything.
    throw new WaybillError(
      'OPTION_INVALID',
      'there is no private key in PEM, without a passphrase',
      place,
      error,
    )
  }
}

export class DkimKeys {
  readonly #byDomain = new Map<string, SigningKey[]>()

  /** @param place of what is wrong, for the error @throws WaybillError OPTION_INVALID */
  add(key: DkimKey, place: Place): SigningKey {
    const added = signingKey(key, place)
    const known = this.#byDomain.get(added.domain) ?? []
    if (known.some(({ algorithm }) => algorithm === added.algorithm))
      throw new WaybillError(
        'OPTION_INVALID',
        `${added.domain} has a key for ${added.algorithm} already`,
        place,
      )
    this.#byDomain.set(added.domain, [...known, added])
    return added
  }

  /** Those of the domain, or of the nearest one above it. @param domain in lower case, without a
   * dot at its end */
  for(domain: string): readonly SigningKey[] {
    for (let name = domain; ;) {
      const keys = this.#byDomain.get(name)
      if (keys !== undefined) return keys
      const dot = name.indexOf('.')
      if (dot < 0) return []
      name = name.slice(dot + 1)
    }
  }
}

/** @param keys the option `dkim` @throws WaybillError OPTION_INVALID */
export function dkimKeysOf(keys: readonly DkimKey[]): DkimKeys {
  if (!Array.isArray(keys) || keys.length === 0)
    throw new WaybillError('OPTION_INVALID', 'expected keys, at least one', { option: 'dkim' })
  const dkimKeys = new DkimKeys()
  for (const [index, key] of (keys as readonly DkimKey[]).entries()) {
    const option = `dkim[${index}]`
    checkOptionNames(key, { domain: true, selector: true, privateKey: true }, option)
    dkimKeys.add(key, { option })
  }
  return dkimKeys
}
