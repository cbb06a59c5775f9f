/** Milliseconds of each round. */
export interface Timings {
  userSwarm: { ready: number; gone: number }[];
  deployment: { ready: number; gone: number }[];
}

function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((left, right) => left - right);
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? Number.NaN;
}

const seconds = (milliseconds: number): string => `${(milliseconds / 1000).toFixed(2)} s`;

/** p50 and p95 of both, and their difference. */
export function timingTable({ deployment, userSwarm }: Timings): string {
  const rows = (['ready', 'gone'] as const).flatMap((what) => {
    const title = what === 'ready' ? 'create → Ready' : 'delete → deleted';
    const at = (entries: Timings['userSwarm'], share: number): number => {
      const values = entries.map((entry) => entry[what]);
      return quantile(values, share);
    };
    return ([0.5, 0.95] as const).map((share) => {
      const [ours, bare] = [at(userSwarm, share), at(deployment, share)];
      return `| ${title} | p${share * 100} | ${seconds(ours)} | ${seconds(bare)} | ${(ours / bare).toFixed(2)} |`;
    });
  });
  return [
    `| ${userSwarm.length} of each, in turn | | UserSwarm | bare Deployment | ratio |`,
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** Rounds of concurrent creations and deletions, until the last object is Ready or deleted. */
export function togetherTable(count: number, { deployment, userSwarm }: Timings): string {
  const rows = (['ready', 'gone'] as const).map((what) => {
    const [ours, bare] = [userSwarm.map((round) => round[what]), deployment.map((round) => round[what])];
    const ratios = ours.map((value, round) => value / (bare[round] ?? Number.NaN));
    const title = what === 'ready' ? 'create → all Ready' : 'delete → last pod deleted';
    const medians = `${seconds(quantile(ours, 0.5))} | ${seconds(quantile(bare, 0.5))} | ${quantile(ratios, 0.5).toFixed(2)}`;
    return `| ${title} | ${medians} | ${ratios.map((ratio) => ratio.toFixed(2)).join(', ')} |`;
  });
  return [
    `| ${count} together, medians of ${userSwarm.length} pairs | UserSwarms | bare Deployments | ratio | of each pair |`,
    '| --- | --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}

/** Milliseconds of each round. */
export interface WakeTimings {
  wake: number[];
  deployment: number[];
}

/** From a message to a suspended runtime until the first chunk, and a bare Deployment's start. */
export function wakeTable({ wake, deployment }: WakeTimings): string {
  const rows = ([0.5, 0.95] as const).map((share) => {
    const [ours, bare] = [quantile(wake, share), quantile(deployment, share)];
    return `| p${share * 100} | ${seconds(ours)} | ${seconds(bare)} | ${(ours / bare).toFixed(2)} |`;
  });
  return [
    `| ${wake.length} of each, in turn | message → first chunk | bare Deployment → Ready | ratio |`,
    '| --- | --- | --- | --- |',
    ...rows,
  ].join('\n');
}
