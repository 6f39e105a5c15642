/** The web server of a domain's MTA-STS policy. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { onTestFinished } from 'vitest'
import type { StsWeb } from '../../src/relay/tls/mta-sts-web.js'
import { ofMtaSts, roots, type Certificate } from './named-certificates.js'

export type Page = string | ((request: IncomingMessage, response: ServerResponse) => void)

export interface StsServer {
  readonly web: StsWeb
  /** What it answers from now on; a text as it should. */
  page: Page
  readonly asked: string[]
}

/** For `mta-sts.example.net`. */
export async function stsServer(page: Page, certificate: Certificate = ofMtaSts): Promise<StsServer> {
  const asked: string[] = []
  const server = createServer({ ...certificate }, (request, response) => {
    asked.push(`${request.method} ${request.headers.host?.replace(/:\d+$/, '')}${request.url}`)
    if (typeof answers.page === 'function') answers.page(request, response)
    else response.setHeader('content-type', 'text/plain').end(answers.page)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.close()
    server.closeAllConnections()
  })
  const { port } = server.address() as AddressInfo
  const answers: StsServer = { web: { port, ca: roots }, page, asked }
  return answers
}

export const policyText = (mode: string, mx: readonly string[], maxAge = 86_400): string =>
  ['version: STSv1', `mode: ${mode}`, ...mx.map((name) => `mx: ${name}`), `max_age: ${maxAge}`, ''].join(
    '\r\n',
  )
