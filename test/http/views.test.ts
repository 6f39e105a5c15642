import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.js'
import { Views, withoutConnections } from '../../src/http/content/views.js'

test('a view has no tag for which a browser connects before it asks the policy', () => {
  const html = '<IFrame src=a></iframe><link rel=preconnect href=b><LINK rel="dns-prefetch"><p>a link<object>'
  expect(withoutConnections(html)).toBe(
    '<x-IFrame src=a></x-iframe><x-link rel=preconnect href=b><x-LINK rel="dns-prefetch"><p>a link<x-object>',
  )
  const views = new Views(systemClock)
  expect(views.take(views.add('<frameset><frame src=a>').key)).toBe('<x-frameset><x-frame src=a>')
})
