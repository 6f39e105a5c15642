/** The hash of a password: scrypt, with its salt and cost, as one word.
 * Invariant: the time of a comparison does not show how much of a key was right, and no word takes
 * more work than `workBytesMax`.
 *
 *     $scrypt$ln=15,r=8,p=1$aM15713r3Xsvxbi31lqr1Q$nFNh2CVHVjNldFVKDHDlm4CbdRSCdEBsjjJxD+iCs5E
 *             N = 2^ln      salt, base64           key, base64; neither is padded
 *
 * It is the form of Python's passlib, whose hashes are taken too. A check costs 32 MiB and, here, a
 * tenth of a second. */
import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

interface Cost {
  /** N is two to the power of it. */
  readonly ln: number
  readonly r: number
  readonly p: number
}

/** Can be told to another thread. */
export interface PasswordHash extends Cost {
  readonly salt: Uint8Array
  readonly key: Uint8Array
}

const costDefault: Cost = { ln: 15, r: 8, p: 1 }
const saltBytesDefault = 16
const keyBytesDefault = 32

/** Memory of a check times its rounds, 128·N·r·p: sixteen times the usual, some two seconds. */
const workBytesMax = 2 ** 29
const saltBytesMin = 8
/** A short key is guessed by chance, one of no bytes by everybody. */
const keyBytesMin = 16
const bytesMax = 64

const scrypted = promisify<string, Uint8Array, number, object, Buffer>(scrypt)

/** RFC 4616 §2: what is typed as two code points here and as one there is one password. */
const normal = (password: string): string => password.normalize('NFKC')

/** Runs in the pool of threads that the disk's calls go through, too. */
const keyOf = (password: string, { ln, r, p }: Cost, salt: Uint8Array, bytes: number): Promise<Buffer> =>
  scrypted(password, salt, bytes, { N: 2 ** ln, r, p, maxmem: 2 * workBytesMax })

export async function hashOf(password: string): Promise<PasswordHash> {
  const salt = randomBytes(saltBytesDefault)
  return { ...costDefault, salt, key: await keyOf(normal(password), costDefault, salt, keyBytesDefault) }
}

/** As typed, too, when that is another text: so passlib hashes it. */
export async function isPassword(password: string, hash: PasswordHash): Promise<boolean> {
  for (const text of new Set([normal(password), password]))
    if (timingSafeEqual(await keyOf(text, hash, hash.salt, hash.key.length), hash.key)) return true
  return false
}

const unpadded = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64').replace(/=+$/, '')

export const formatHash = ({ ln, r, p, salt, key }: PasswordHash): string =>
  `$scrypt$ln=${ln},r=${r},p=${p}$${unpadded(salt)}$${unpadded(key)}`

/** @returns undefined when the text is no hash, is too weak, or takes too much work */
export function parseHash(text: string): PasswordHash | undefined {
  const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([A-Za-z\d+/]+)\$([A-Za-z\d+/]+)$/.exec(
    text,
  )
  if (match === null) return undefined
  const [ln, r, p] = [Number(match[1]), Number(match[2]), Number(match[3])]
  const [salt, key] = [Buffer.from(match[4]!, 'base64'), Buffer.from(match[5]!, 'base64')]
  // RFC 7914 §2: N is less than 2^(16·r), so that r is not 0 either.
  const isCost = ln >= 1 && p >= 1 && ln < 16 * r && 128 * 2 ** ln * r * p <= workBytesMax
  const areBytes = salt.length >= saltBytesMin && key.length >= keyBytesMin
  if (!isCost || !areBytes || salt.length > bytesMax || key.length > bytesMax) return undefined
  return { ln, r, p, salt, key }
}
