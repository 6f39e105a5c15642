/** Ends a test run with plain lines that CI reads in any language. They are `failed: NAME: ERROR`
 * for each failed test, then `N passed, N failed, N skipped`. A file that cannot be loaded counts
 * as a failed test: a run that tested nothing must not look green. */
import type { Reporter, TestModule, SerializedError } from 'vitest/node'

export default class CountReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[], unhandled: readonly SerializedError[]): void {
    let passed = 0
    let skipped = 0
    const failed: string[] = []
    const fail = (name: string, errors: readonly SerializedError[]): void => {
      const error = (errors[0]?.message ?? 'no error').replaceAll(/\s+/g, ' ').slice(0, 300)
      failed.push(`failed: ${name}: ${error}\n`)
    }
    for (const error of unhandled) fail('outside a test', [error])
    for (const module of modules) {
      for (const error of module.errors()) fail(module.relativeModuleId, [error])
      for (const test of module.children.allTests()) {
        const { state, errors } = test.result()
        if (state === 'passed') passed++
        else if (state === 'skipped') skipped++
        else fail(`${module.relativeModuleId} > ${test.fullName}`, errors ?? [])
      }
    }
    process.stdout.write(
      `\n${failed.join('')}${passed} passed, ${failed.length} failed, ${skipped} skipped\n`,
    )
  }
}
