/** The version of this package, wherever it is installed. */
import { readFileSync } from 'node:fs'

/** `0.1.0`. */
export function versionText(): string {
  // From dist/bundle in a package, dist/tools/commands/cli when built, or the source tree.
  for (const path of ['../../package.json', '../../../../package.json', '../../../package.json']) {
    const text = textOf(new URL(path, import.meta.url))
    const found = text === undefined ? undefined : (JSON.parse(text) as { name?: string; version?: string })
    if (found?.name === 'waybill' && found.version !== undefined) return found.version
  }
  throw new Error('the package has no package.json')
}

function textOf(url: URL): string | undefined {
  try {
    return readFileSync(url, 'utf8')
  } catch {
    // Not there: the other place is meant.
    return undefined
  }
}
