/** Small pictures beside words: a form for each meaning, so that none depends on colour. */
import { svg, html, type TemplateResult } from '/vendor/lit-html/lit-html.js'

export type Icon = 'well' | 'notice' | 'warning' | 'critical' | 'lost' | 'paused' | 'waiting'

const forms: Readonly<Record<Icon, TemplateResult>> = {
  well: svg`<circle cx="8" cy="8" r="6.5"/><path d="M5 8.3 7.2 10.5 11.2 6"/>`,
  notice: svg`<circle cx="8" cy="8" r="6.5"/><path d="M8 7.4v3.8M8 4.9v.2"/>`,
  warning: svg`<path d="M8 1.8 14.8 13.8H1.2Z"/><path d="M8 6.2v3.6M8 11.6v.2"/>`,
  critical: svg`<path d="M5.3 1.5h5.4l3.8 3.8v5.4l-3.8 3.8H5.3l-3.8-3.8V5.3Z"/><path d="M5.6 5.6l4.8 4.8M10.4 5.6l-4.8 4.8"/>`,
  lost: svg`<path d="M2 6.5a8.6 8.6 0 0 1 12 0M4.6 9.2a4.9 4.9 0 0 1 6.8 0M8 12v.2M2.2 14 13.8 2"/>`,
  paused: svg`<circle cx="8" cy="8" r="6.5"/><path d="M6.3 5.6v4.8M9.7 5.6v4.8"/>`,
  waiting: svg`<circle cx="8" cy="8" r="6.5"/><path d="M8 4.4V8l2.4 1.6"/>`,
}

export const icon = (name: Icon): TemplateResult =>
  html`<svg class="icon ${name}" viewBox="0 0 16 16" aria-hidden="true">${forms[name]}</svg>`
