/** Loads a package when it is first used, in one step. Loading must not let anything else run,
 * because a simulated world has only microtasks.
 * A bundle has its packages within, and perhaps no directory of packages beside it. There the
 * package is loaded by an `import()` whose name bundlers read. */
import { createRequire } from 'node:module'

/** A package beside this module, or beside the bundle that it is in. No bundler sees it. */
export const besideUs = (name: string): unknown => createRequire(here())(name)

export interface AtFirstUse<T> {
  /** What the package exports. @throws where `ready` gives a promise that has not settled */
  readonly now: () => T
  /** Undefined when `now` can be called: everywhere except in a bundle, before its first use. */
  readonly ready: () => Promise<void> | undefined
}

/** @param name of a CommonJS module
 * @param bundled imports the same: `() => import('NAME')` */
export function atFirstUse<T>(name: string, bundled: () => Promise<{ readonly default: T }>): AtFirstUse<T> {
  let loaded: { readonly exports: T } | undefined
  const now = (): T => (loaded ??= { exports: besideUs(name) as T }).exports
  const ready = (): Promise<void> | undefined => {
    try {
      now()
      return undefined
    } catch {
      // The import says why, where it fails too.
      return bundled().then((module) => void (loaded = { exports: module.default }))
    }
  }
  return { now, ready }
}

/** Where this module is. A bundle for CommonJS has no `import.meta.url`, and no other has this. */
const here = (): string => (typeof __filename === 'string' ? __filename : import.meta.url)
