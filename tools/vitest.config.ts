import { availableParallelism } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Plugin } from 'vite'
import { defineConfig, type ViteUserConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { deepPatterns, huntTests, longestTests, mockingTests, seededTests } from './test-tiers.js'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Starts the longest tests first, then those of crashes. vitest sorts unknown files by size, which
 * says little: a long one at the end leaves one processor waiting for the other. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    const rankOf = ({ moduleId }: TestSpecification): number => {
      const place = longestTests.findIndex((path) => moduleId.endsWith(`/${path}`))
      if (place >= 0) return place
      return longestTests.length + (moduleId.includes('/test/crash/') ? 0 : 1)
    }
    return sorted.sort((a, b) => rankOf(a) - rankOf(b))
  }
}

/** The deep tier runs the build: what vitest transforms reads each import anew at each use, which
 * costs the simulator a third of its speed. */
const builtCode: Plugin = {
  name: 'built-code',
  enforce: 'pre',
  resolveId(source, importer) {
    if (importer === undefined || !/^\.\.?\//.test(source)) return null
    const path = relative(root, resolve(dirname(importer), source))
    return /^(src|tools|bench)\/.*\.js$/.test(path) ? { id: join(root, 'dist', path), external: true } : null
  },
}

/** Patterns of test files alone. */
const testFilesOf = (patterns: readonly string[]): string[] =>
  patterns.map((pattern) => pattern.replace(/\*\*$/, '**/*.test.ts'))

const server = { deps: { external: [/\/dist\//] } }

const config: ViteUserConfig = defineConfig({
  root,
  test: {
    projects: [
      {
        extends: true,
        // A module is evaluated once for all files of a worker: half of the processor time.
        test: {
          name: 'quick',
          include: ['test/**/*.test.ts'],
          exclude: [...deepPatterns, ...mockingTests],
          isolate: false,
        },
      },
      { extends: true, test: { name: 'quick-mocking', include: [...mockingTests] } },
      {
        extends: true,
        plugins: [builtCode],
        test: {
          name: 'deep',
          include: [
            ...testFilesOf(deepPatterns.filter((pattern) => !huntTests.includes(pattern))),
            ...seededTests,
          ],
          server,
        },
      },
      {
        extends: true,
        plugins: [builtCode],
        // What is compiled for one hunt serves the next one.
        test: {
          name: 'deep-hunts',
          include: testFilesOf(huntTests),
          exclude: [...seededTests],
          isolate: false,
          server,
        },
      },
    ],
    setupFiles: [fileURLToPath(new URL('../test/octets.ts', import.meta.url))],
    globalSetup: [fileURLToPath(new URL('../test/small-queue.ts', import.meta.url))],
    reporters: ['default', fileURLToPath(new URL('./count-reporter.ts', import.meta.url))],
    // For the longest on a busy machine; what hangs is found all the same.
    testTimeout: 900_000,
    hookTimeout: 300_000,
    // A test that needs a shorter time sets it.
    expect: { poll: { timeout: 60_000 } },
    // vitest leaves one processor idle, which is half of a machine with two. One more than there
    // are, because many tests wait for a process, a disk or a second to pass.
    maxWorkers: availableParallelism() + 1,
    sequence: { sequencer: LongestFirst },
  },
})

export default config
