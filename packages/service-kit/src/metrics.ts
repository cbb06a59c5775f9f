import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { collectDefaultMetrics, Counter, Gauge, type LabelValues, Registry } from 'prom-client';

export { Registry } from 'prom-client';

/** Creates a registry with the default process metrics. Every metric has the label `component`. */
export function createMetrics(component: string): Registry {
  const registry = new Registry();
  // Not `service`: the Prometheus operator gives every target a label of that name.
  registry.setDefaultLabels({ component });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'uswarm_build_info',
    help: 'Always 1; the label states the running version.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: productVersion() }, 1);
  readGauge(registry, 'uswarm_process_memory_limit_bytes', 'Memory limit of the process in bytes.', memoryLimit);
  return registry;
}

/** All packages share one version. */
function productVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}

/** The container's memory limit in bytes, or the machine's memory if there is no limit. */
function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A gauge whose value is read at each scrape. */
export function readGauge(registry: Registry, name: string, help: string, read: () => number): void {
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) });
}

/**
 * A counter whose series all start at 0. If a series appears with its first event, Prometheus does not count that
 * event, and an alert on a rare failure misses it.
 *
 * @param labels the allowed values of each label
 */
export function initializedCounter<Label extends string>(
  registry: Registry,
  name: string,
  help: string,
  labels: Record<Label, readonly string[]>,
): Counter<Label> {
  const labelNames = Object.keys(labels) as Label[];
  const counter = new Counter({ name, help, labelNames, registers: [registry] });
  let series: Partial<Record<Label, string>>[] = [{}];
  for (const label of labelNames) {
    series = series.flatMap((each) => labels[label].map((value) => ({ ...each, [label]: value })));
  }
  for (const each of series) counter.inc(each as LabelValues<Label>, 0);
  return counter;
}

/** Returns `value` if it is in `known`, otherwise `other`. Prevents clients from creating series. */
export function boundedLabel(known: ReadonlySet<string>, value: string): string {
  return known.has(value) ? value : 'other';
}
