import { readFileSync } from 'node:fs';
import type { Registry } from '@uswarm/service-kit';

/** A metric as docs/metrics.md has it. */
export interface DocumentedMetric {
  name: string;
  type: string;
  labels: string[];
  help: string;
}

const DOCUMENT = new URL('../../../docs/metrics.md', import.meta.url);
/** Those of Node and of the client library, which has its own page for them. */
const OF_EVERY_PROCESS = /^(process|nodejs)_/;
const EVERY_PROCESS = 'Every process';

interface Described {
  name: string;
  help: string;
  type: unknown;
  labelNames?: string[];
}

/** Everything of ours in a registry, in the order of names. */
export function metricsIn(registry: Registry): DocumentedMetric[] {
  const all = registry.getMetricsAsArray() as unknown as Described[];
  return all
    .filter(({ name }) => !OF_EVERY_PROCESS.test(name))
    .map(({ name, help, type, labelNames = [] }) => ({ name, type: String(type), labels: [...labelNames], help }))
    .toSorted(byName);
}

/** What docs/metrics.md says of a component, with what every process has. */
export function documentedMetrics(component: string): DocumentedMetric[] {
  const sections = readFileSync(DOCUMENT, 'utf8').split(/^## /m);
  const rows = sections.flatMap((section) => {
    const title = section.slice(0, section.indexOf('\n')).replaceAll('`', '').trim();
    return title === component || title === EVERY_PROCESS ? section.split('\n') : [];
  });
  return rows.flatMap(readRow).toSorted(byName);
}

/** All that docs/metrics.md names. */
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
