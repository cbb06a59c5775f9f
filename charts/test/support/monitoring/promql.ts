import type { DocumentedMetric, Expression } from '@uswarm/testkit';

/** Labels that a scrape adds to every series. */
const OF_TARGETS = ['component', 'instance', 'pod', 'namespace', 'job', 'cluster'];
/** Metrics of Node.js and the client library. */
const OF_EVERY_PROCESS: Record<string, string> = {
  process_cpu_seconds_total: 'counter',
  process_resident_memory_bytes: 'gauge',
  process_start_time_seconds: 'gauge',
  nodejs_eventloop_lag_p99_seconds: 'gauge',
  nodejs_heap_size_used_bytes: 'gauge',
  nodejs_gc_duration_seconds: 'histogram',
};
const OF_COUNTERS = new Set(['rate', 'increase', 'irate']);

interface Known {
  labels: string[];
  isCounter: boolean;
}

/** Faults in an expression: unknown metrics and labels, and gauge rates. */
export function misused(expression: Expression, documented: readonly DocumentedMetric[]): string[] {
  const { error, selectors, labels, calls } = expression;
  if (error !== undefined) return [error];
  const found = new Map(selectors.map(({ metric }) => [metric, lookUp(metric, documented)]));
  const known = new Set([...OF_TARGETS, ...[...found.values()].flatMap((metric) => metric?.labels ?? [])]);
  return [
    ...[...found].flatMap(([name, metric]) => (metric === undefined ? [`there is no metric ${name}`] : [])),
    ...selectors.flatMap(({ metric, matchers }) => {
      const has = new Set([...OF_TARGETS, ...(found.get(metric)?.labels ?? [])]);
      return matchers.flatMap(({ label }) => (has.has(label) ? [] : [`${metric} has no label ${label}`]));
    }),
    ...labels.flatMap((label) => (known.has(label) ? [] : [`no metric of it has a label ${label}`])),
    ...calls.flatMap(({ name, metrics }) =>
      metrics.flatMap((metric) =>
        OF_COUNTERS.has(name) && found.get(metric)?.isCounter === false ? [`${name} of ${metric}, no counter`] : [],
      ),
    ),
  ];
}

/** A series' metric. A histogram has three series names. */
function lookUp(name: string, documented: readonly DocumentedMetric[]): Known | undefined {
  const base = name.replace(/_(bucket|count|sum)$/, '');
  const ofNode = OF_EVERY_PROCESS[name] ?? (OF_EVERY_PROCESS[base] === 'histogram' ? 'histogram' : undefined);
  if (ofNode !== undefined)
    return { labels: ofNode === 'histogram' ? ['kind', 'le'] : [], isCounter: ofNode !== 'gauge' };
  const plain = documented.filter((metric) => metric.name === name && metric.type !== 'histogram');
  const histograms = documented.filter(
    (metric) => metric.name === base && metric.name !== name && metric.type === 'histogram',
  );
  const labels = [...plain, ...histograms].flatMap((metric) => metric.labels);
  if (plain.length > 0) return { labels, isCounter: plain.every(({ type }) => type === 'counter') };
  if (histograms.length === 0) return undefined;
  return { labels: name.endsWith('_bucket') ? [...labels, 'le'] : labels, isCounter: true };
}
