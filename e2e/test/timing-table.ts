/** Milliseconds of each round. */
export interface Timings {
  userSwarm: { ready: number; gone: number }[];
  deployment: { ready: number; gone: number }[];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

/** p50 and p95 of both, and how they compare. */
export function timingTable({ deployment, userSwarm }: Timings): string {
  const rows = (['ready', 'gone'] as const).flatMap((what) => {
    const title = what === 'ready' ? 'create → Ready' : 'delete → gone';
    return ([0.5, 0.95] as const).map((share) => {
      const ours = quantile(
        userSwarm.map((entry) => entry[what]),
        share,
      );
      const bare = quantile(
        deployment.map((entry) => entry[what]),
        share,
      );
      const seconds = (value: number): string => `${(value / 1000).toFixed(2)} s`;
      return `| ${title} | p${share * 100} | ${seconds(ours)} | ${seconds(bare)} | ${(ours / bare).toFixed(2)} |`;
    });
  });
  return [
    `| ${userSwarm.length} of each, in turn | | UserSwarm | bare Deployment | ratio |`,
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
