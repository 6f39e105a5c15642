/** Loads a package when it is first used, in one step: loading it may not let anything else run,
 * because a simulated world has only microtasks. */
import { createRequire } from 'node:module'

/** @param name of a CommonJS module @returns what it exports */
export function atFirstUse<T>(name: string): () => T {
  let loaded: { readonly exports: T } | undefined
  return () => (loaded ??= { exports: createRequire(here())(name) as T }).exports
}

/** Where this module is. A bundle for CommonJS has no `import.meta.url`, and no other has this. */
const here = (): string => (typeof __filename === 'string' ? __filename : import.meta.url)
