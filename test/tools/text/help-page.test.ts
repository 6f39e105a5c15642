/** The pages of the package as HTML. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { consolePages } from '../../../tools/commands/serve/console-pages.js'
import { anchorOf, helpHtml } from '../../../tools/commands/text/help-page.js'
import { root } from '../../project.js'

const body = (markdown: string): string =>
  /<main>\n([^]*)\n {4}<\/main>/.exec(
    helpHtml('src/a/README.md', markdown, ['src/b.md', 'src/a/README.md']),
  )![1]!

test.each([
  ['## A disk that hangs', '<h2 id="a-disk-that-hangs">A disk that hangs</h2>'],
  [
    'one\ntwo `a < b`\n\n**three**, *four*',
    '<p>one\ntwo <code>a &#60; b</code></p>\n<p><strong>three</strong>, <em>four</em></p>',
  ],
  [
    '- one\n  goes on\n- two\n\n  more\n\ntext',
    '<ul><li>one\ngoes on</li>\n<li>two\n<p>more</p></li></ul>\n<p>text</p>',
  ],
  ['1. one\n   - inner\n2. two', '<ol><li>one\n<ul><li>inner</li></ul></li>\n<li>two</li></ol>'],
  ['```sh\nwaybill <x>\n\n# no heading\n```', '<pre><code>waybill &#60;x&#62;\n\n# no heading</code></pre>'],
  [
    '| a | b |\n| --- | :-: |\n| `x\\|y` | z |',
    '<table><thead><tr><th>a</th><th>b</th></tr></thead><tbody><tr><td><code>x|y</code></td><td>z</td></tr></tbody></table>',
  ],
  ['[b](../b.md#some-place)', '<p><a href="/help/src/b.md#some-place">b</a></p>'],
  ['[here](#there)', '<p><a href="/help/src/a/README.md#there">here</a></p>'],
  ['[code](../c.ts)', '<p>code (<code>src/c.ts</code>)</p>'],
  ['[x](https://a.example/)', '<p><a href="https://a.example/">x</a></p>'],
  ['[x](javascript:alert)', '<p>x (<code>src/a/javascript:alert</code>)</p>'],
  ['<script>x</script> "y"', '<p>&#60;script&#62;x&#60;/script&#62; &#34;y&#34;</p>'],
  ['default_destination_rate_delay and 2 * 3 * 4', '<p>default_destination_rate_delay and 2 * 3 * 4</p>'],
])('%j is %j', (markdown, html) => {
  expect(body(markdown)).toBe(html)
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
