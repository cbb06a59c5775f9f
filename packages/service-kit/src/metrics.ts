import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { collectDefaultMetrics, Counter, Gauge, type LabelValues, Registry } from 'prom-client';

export { Registry } from 'prom-client';

/** A registry with the process's own figures in it; `component` is a label of everything in it. */
export function createMetrics(component: string): Registry {
  const registry = new Registry();
  // Not `service`: the Prometheus operator gives every target a label of that name.
  registry.setDefaultLabels({ component });
  collectDefaultMetrics({ register: registry });
  new Gauge({
    name: 'uswarm_build_info',
    help: 'Always 1; says by its label which version runs.',
    labelNames: ['version'],
    registers: [registry],
  }).set({ version: productVersion() }, 1);
  readGauge(registry, 'uswarm_process_memory_limit_bytes', 'Memory that the process may use.', memoryLimit);
  return registry;
}

/** All packages of the product have one version, this one among them. */
function productVersion(): string {
  const manifest = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')) as { version: string };
  return manifest.version;
}

/** The container's limit; where there is none, what the machine has. */
function memoryLimit(): number {
  const limit = process.constrainedMemory();
  return limit > 0 ? Math.min(limit, totalmem()) : totalmem();
}

/** A gauge that is read at each scrape. */
export function readGauge(registry: Registry, name: string, help: string, read: () => number): void {
  const gauge: Gauge = new Gauge({ name, help, registers: [registry], collect: () => gauge.set(read()) });
}

/**
 * A counter whose series are all there from the start: of one that appears with its first event, Prometheus never
 * sees that event, and an alert on a rare failure would miss it.
 *
 * @param labels the values that each label can have
 */
export function knownCounter<Label extends string>(
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

/** `value` where it is one of those that are known: what others write must not make series. */
export function knownLabel(known: ReadonlySet<string>, value: string): string {
  return known.has(value) ? value : 'other';
}
