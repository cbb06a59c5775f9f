import { readFileSync } from 'node:fs';
import type { Registry } from '@uswarm/service-kit';

/** A metric as in docs/metrics.md. */
export interface DocumentedMetric {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

const DOCUMENT = new URL('../../../docs/metrics.md', import.meta.url);
/** The metrics of Node.js and the client library, which documents them. */
const OF_EVERY_PROCESS = /^(process|nodejs)_/;
const EVERY_PROCESS = 'Every process';

interface Described {
  name: string;
  help: string;
  type: unknown;
  labelNames?: string[];
}

/** The metrics in a registry without Node.js' own, sorted by name. */
export function metricsIn(registry: Registry): DocumentedMetric[] {
  const all = registry.getMetricsAsArray() as unknown as Described[];
  return all
    .filter(({ name }) => !OF_EVERY_PROCESS.test(name))
    .map(({ name, help, type, labelNames = [] }) => ({ name, type: String(type), labels: [...labelNames], help }))
    .toSorted(byName);
}

/** The metrics in a `/metrics` response without Node.js' own, with their series' labels; sorted by name. */
export function servedMetrics(text: string): DocumentedMetric[] {
  const found = new Map<string, DocumentedMetric>();
  for (const line of text.split('\n')) {
    const [, what, name = '', rest = ''] = /^# (HELP|TYPE) (\w+) (.*)$/.exec(line) ?? [];
    const metric = found.get(name) ?? { name, type: '', labels: [], help: '' };
    if (what === 'HELP') found.set(name, { ...metric, help: rest });
    if (what === 'TYPE') found.set(name, { ...metric, type: rest });
    if (what === undefined) addLabels(found, line);
  }
  return [...found.values()].filter(({ name }) => !OF_EVERY_PROCESS.test(name)).toSorted(byName);
}

function addLabels(found: ReadonlyMap<string, DocumentedMetric>, line: string): void {
  const [, series = '', labels = ''] = /^(\w+)\{(.*)\} /.exec(line) ?? [];
  const metric = found.get(series) ?? found.get(series.replace(/_(bucket|count|sum)$/, ''));
  for (const [, label = ''] of labels.matchAll(/(\w+)="(?:[^"\\]|\\.)*"/g)) {
    const ofFormat = label === 'component' || (label === 'le' && metric?.type === 'histogram');
    if (metric !== undefined && !ofFormat && !metric.labels.includes(label)) metric.labels.push(label);
  }
}

/**
 * Lists the differences between a `/metrics` response and docs/metrics.md: metrics, types, help texts and labels.
 * Labels on metrics without series are not compared.
 */
export function undocumented(component: string, text: string): string[] {
  const documented = new Map(documentedMetrics(component).map((metric) => [metric.name, metric]));
  const served = servedMetrics(text);
  const missing = [...documented.keys()].filter((name) => served.every((metric) => metric.name !== name));
  return [
    ...missing.map((name) => `${name} is not served`),
    ...served.flatMap(({ name, type, help, labels }) => {
      const metric = documented.get(name);
      if (metric === undefined) return [`${name} is not documented`];
      if (metric.type !== type || metric.help !== help)
        return [`${name} has another type or help text in the documentation`];
      return labels.filter((label) => !metric.labels.includes(label)).map((label) => `${name} has the label ${label}`);
    }),
  ];
}

/** A component's metrics in docs/metrics.md, including the ones for every process. */
export function documentedMetrics(component: string): DocumentedMetric[] {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^## /m);
  const rows = sections.flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n')).replaceAll('`', '').trim();
    return title === component || title === EVERY_PROCESS ? section.split('\n') : [];
  });
  return rows.flatMap(readRow).toSorted(byName);
}

/** All metrics in docs/metrics.md. */
export function allDocumentedMetrics(): DocumentedMetric[] {
  return readFileSync(DOCUMENT, 'utf8').split('\n').flatMap(readRow);
}

function readRow(line: string): DocumentedMetric[] {
  const [, name = '', type = '', labels = '', help = ''] = line.split(/(?<!\\)\|/).map((cell) => cell.trim());
  const known = /^`(\w+)`$/.exec(name)?.[1];
  if (known === undefined) return [];
  return [{ name: known, type, labels: [...labels.matchAll(/`(\w+)`/g)].map(([, label]) => label ?? ''), help }];
}

const byName = (a: { name: string }, b: { name: string }): number => (a.name < b.name ? -1 : 1);
