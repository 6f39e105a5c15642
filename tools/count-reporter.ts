/** Ends a test run with one plain line, `N passed, N failed, N skipped`, which CI reads in any language.
 * A file that cannot even be loaded counts as a failed test: a run that tested nothing must not look green. */
import type { Reporter, TestModule, SerializedError } from 'vitest/node'

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    let failed = unhandled.length
    let skipped = 0
    for (const module of modules) {
      failed += module.errors().length
      for (const test of module.children.allTests()) {
        const { state } = test.result()
        if (state === 'passed') passed++
        else if (state === 'skipped') skipped++
        else failed++
      }
    }
    process.stdout.write(`\n${passed} passed, ${failed} failed, ${skipped} skipped\n`)
  }
}
