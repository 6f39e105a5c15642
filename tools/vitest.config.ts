import { fileURLToPath } from 'node:url'
import { defineConfig, type ViteUserConfig } from 'vitest/config'

const config: ViteUserConfig = defineConfig({
  root: fileURLToPath(new URL('..', import.meta.url)),
  test: {
    include: ['test/**/*.test.ts'],
    reporters: ['default', fileURLToPath(new URL('./count-reporter.ts', import.meta.url))],
    testTimeout: 60_000,
    // Unless told, one processor is left idle: on two that is half of the machine.
    maxWorkers: '100%',
  },
})

export default config
