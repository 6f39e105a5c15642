/** A page of the package as HTML, for the console. Pure.
 * Invariant: the text of a page becomes text and never markup, and a link leads to another page
 * that is served, or away from here by https. */
import { posix } from 'node:path'
import { Marked, type RendererObject } from 'marked'

/** @param path from the root of the package, `src/relay/SERVE.md` @param served paths of all such
 * pages */
export function helpHtml(path: string, markdown: string, served: readonly string[]): string {
  const title = /^# (.*)$/m.exec(markdown)?.[1] ?? path
  const marked = new Marked({ renderer: rendererFor(path, served) })
  return `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <meta name="color-scheme" content="light dark" />
    <title>${escaped(title)} – Waybill</title>
    <link rel="icon" href="/console/page/icon.svg" type="image/svg+xml" />
    <link rel="stylesheet" href="/console/page/base.css" />
    <link rel="stylesheet" href="/console/page/help.css" />
  </head>
  <body class="help">
    <main>
${marked.parse(markdown, { async: false })}
    </main>
  </body>
</html>
`
}

/** As GitHub makes the anchor of a heading. */
export const anchorOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-')

const escaped = (text: string): string => text.replace(/[&<>"]/g, (char) => `&#${char.charCodeAt(0)};`)

const rendererFor = (path: string, served: readonly string[]): RendererObject => ({
  html: ({ text }) => escaped(text),
  heading({ tokens, depth, text }) {
    return `<h${depth} id="${escaped(anchorOf(text))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
  },
  image: ({ text }) => escaped(text),
  /** A page that is not served is named, because the package has it. */
  link({ href, text, tokens }) {
    const label = this.parser.parseInline(tokens)
    if (/^https?:\/\//.test(href)) return `<a href="${escaped(href)}">${label}</a>`
    const [file = '', anchor] = href.split('#', 2)
    const page = file === '' ? path : posix.join(posix.dirname(path), file)
    const place = anchor === undefined ? '' : `#${anchor}`
    if (served.includes(page)) return `<a href="/help/${escaped(page + place)}">${label}</a>`
    return text === page || text === file ? label : `${label} (<code>${escaped(page)}</code>)`
  },
})
