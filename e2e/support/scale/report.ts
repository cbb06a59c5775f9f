/** Results of one run. Times are in seconds, memory in bytes; values per UserSwarm are averages. */
export interface ScaleReport {
  swarms: number;
  nodes: number;
  /** True if the cluster's controllers have no client-side rate limit. */
  limitsLifted: boolean;
  processors: number;
  seconds: {
    created: number;
    childrenMade: number;
    ready: number;
    gone: number;
  };
  /** Per kind of child, including pods and ReplicaSets. */
  objects: Record<string, number>;
  perSwarm: {
    syncs: number;
    /** Finalizer, children, status. */
    writes: number;
    events: number;
    reads: number | undefined;
  };
  /** Writes until all were Ready, by the controller's metrics and by the audit log. */
  writes: { counted: number; audited: number | undefined; byResource: Record<string, number> };
  refused: number | undefined;
  /** Over some resync periods, with a restarted controller. */
  rest: { periods: number; resyncS: number; syncs: number; counted: number; audited: number | undefined };
  processes: Record<'controller' | 'webhook', ProcessReport>;
}

export interface ProcessReport {
  peak: number | undefined;
  resting: number | undefined;
  /** CPU seconds until all were Ready. */
  cpu: number;
}

const seconds = (value: number): string => `${value.toFixed(1)} s`;
const each = (value: number | undefined): string => (value === undefined ? '–' : value.toFixed(2));
const mebibytes = (bytes: number | undefined): string =>
  bytes === undefined ? '–' : `${Math.round(bytes / 1_048_576)} MiB`;

/** Renders the report as a Markdown table. */
export function scaleTable(report: ScaleReport): string {
  const { swarms, nodes, limitsLifted, processors, perSwarm, processes, rest, writes } = report;
  const limits = limitsLifted ? 'lifted' : 'default, 20 a second each';
  const audited = (count: number | undefined): string => (count === undefined ? 'no audit log' : `${count}`);
  const rows: [string, string][] = [
    ["client limits of the cluster's own controllers", limits],
    ['created', seconds(report.seconds.created)],
    ['all children made', seconds(report.seconds.childrenMade)],
    ['all Ready', seconds(report.seconds.ready)],
    ['all deleted', seconds(report.seconds.gone)],
    ['syncs, each', each(perSwarm.syncs)],
    ['writes of finalizer, children and status, each', each(perSwarm.writes)],
    ['Events, each', each(perSwarm.events)],
    ['reads, each', each(perSwarm.reads)],
    ['writes in all: controller, audit log', `${writes.counted}, ${audited(writes.audited)}`],
    ...(['controller', 'webhook'] as const).map((name): [string, string] => {
      const { peak, resting, cpu } = processes[name];
      return [`${name}: memory at most, at rest; CPU`, `${mebibytes(peak)}, ${mebibytes(resting)}; ${seconds(cpu)}`];
    }),
    [`syncs at rest, ${rest.periods} periods of ${rest.resyncS} s`, `${rest.syncs}`],
    ['writes at rest: controller, audit log', `${rest.counted}, ${audited(rest.audited)}`],
  ];
  return [
    `| ${swarms} UserSwarms on ${nodes} simulated nodes, ${processors} processors | |`,
    '| --- | --- |',
    ...rows.map(([what, value]) => `| ${what} | ${value} |`),
  ].join('\n');
}
