/** Where a problem's help stands: at the relay, which answers with the pages of its package as
 * plain text. Pure. */

const pages: Readonly<Record<string, string>> = {
  'src/directory/README.md': 'The directory of a queue',
  'src/relay/SERVE.md': 'The relay',
  'tools/commands/OPERATING.md': 'Operating a queue',
}

/** The browser goes to the first place that has the words of the heading.
 * @param help `src/relay/SERVE.md#ports-and-tls` */
export function helpOf(help: string): { readonly href: string; readonly title: string } {
  const [page = '', heading = ''] = help.split('#', 2)
  const title = pages[page] ?? page
  if (heading === '') return { href: `/help/${page}`, title }
  const words = heading.replaceAll('-', ' ')
  // Behind `## `, so that it is no link to the section.
  const place = `#:~:text=${encodeURIComponent('##')}-,${encodeURIComponent(words)}`
  return { href: `/help/${page}${place}`, title: `${title}, \u201c${words}\u201d` }
}
