/** Starts the page: one render of the whole page for every change. */
import { render } from '/vendor/lit-html/lit-html.js'
import { App } from './app.js'
import '../parts/rate-chart.js'
import { shell } from './shell.js'

const place = document.getElementById('app')
if (place !== null) {
  const app = new App((shown) => render(shell(shown), place))
  void app.start()
}
