/** A package that is loaded when it is first used, at once: loading it may not let anything else
 * run, because a simulated world has only microtasks. */
import { createRequire } from 'node:module'

const load = createRequire(import.meta.url)

/** @param name of a CommonJS module @returns what it exports */
export function atFirstUse<T>(name: string): () => T {
  let loaded: { readonly exports: T } | undefined
  return () => (loaded ??= { exports: load(name) as T }).exports
}
