/** The pages of the package as HTML. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { consolePages } from '../../tools/commands/serve/console-pages.js'
import { anchorOf, helpHtml } from '../../tools/help-page.js'
import { root } from '../project.js'

const body = (markdown: string): string =>
  /<main>\n([^]*)\n {4}<\/main>/.exec(
    helpHtml('src/a/README.md', markdown, ['src/b.md', 'src/a/README.md']),
  )![1]!

test.each([
  ['## A disk that `hangs`', '<h2 id="a-disk-that-hangs">A disk that <code>hangs</code></h2>'],
  ['[b](../b.md#some-place)', '<p><a href="/help/src/b.md#some-place">b</a></p>'],
  ['[here](#there)', '<p><a href="/help/src/a/README.md#there">here</a></p>'],
  ['[code](../c.ts)', '<p>code (<code>src/c.ts</code>)</p>'],
  ['[x](https://a.example/)', '<p><a href="https://a.example/">x</a></p>'],
  ['[x](javascript:alert)', '<p>x (<code>src/a/javascript:alert</code>)</p>'],
  ['![x](../b.png)', '<p>x</p>'],
  ['text <b onclick=x>bold</b>', '<p>text &#60;b onclick=x&#62;bold&#60;/b&#62;</p>'],
  ['<script>x</script>', '&#60;script&#62;x&#60;/script&#62;'],
  ['default_destination_rate_delay and 2 * 3 * 4', '<p>default_destination_rate_delay and 2 * 3 * 4</p>'],
])('%j is %j', (markdown, html) => {
  expect(body(markdown).trim()).toBe(html)
})

test('the console shows its help as HTML, with the anchors that problems name', () => {
  const help = consolePages(`${root}dist/src/console`).filter(({ path }) => path.startsWith('/help/'))
  expect(help.length).toBe(3)
  for (const { path, contentType, body: bytes } of help) {
    expect(contentType).toBe('text/html; charset=utf-8')
    const html = bytes.toString()
    const text = html.replace(/<pre>[^]*?<\/pre>|<code>[^]*?<\/code>/g, '')
    expect(text).not.toMatch(/\]\(|^#|^\||\*\*|```/m)
    const markdown = readFileSync(`${root}${path.slice('/help/'.length)}`, 'utf8')
    for (const [, heading = ''] of markdown.replace(/```[^]*?```/g, '').matchAll(/^##+ (.*)$/gm))
      expect(html).toContain(` id="${anchorOf(heading)}">`)
  }
})
