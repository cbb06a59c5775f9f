import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CloseStack } from '@uswarm/service-kit';

/** The period that Kubernetes uses, in microseconds. */
const PERIOD_US = 100_000;
const ROOT = '/sys/fs/cgroup';

/** Limits the processor time of processes, as Kubernetes does with pod limits. */
export interface ProcessorLimit {
  /** Limits each of these processes to this core share. Without a share, they are not limited. */
  set(pids: readonly number[], cores?: number): void;
}

/** Needs the right to create control groups. @returns undefined without it */
export function createProcessorLimit(stack: CloseStack): ProcessorLimit | undefined {
  const isFirstVersion = existsSync(join(ROOT, 'cpu/cpu.cfs_quota_us'));
  const root = isFirstVersion ? join(ROOT, 'cpu') : ROOT;
  const groups = new Map<number, string>();

  function limit(group: string, quotaUs: number): void {
    if (!isFirstVersion) return writeFileSync(join(group, 'cpu.max'), `${quotaUs} ${PERIOD_US}`);
    writeFileSync(join(group, 'cpu.cfs_period_us'), String(PERIOD_US));
    writeFileSync(join(group, 'cpu.cfs_quota_us'), String(quotaUs));
  }

  function createGroup(name: string): string {
    const group = join(root, `uswarm-bench-${process.pid}-${name}`);
    mkdirSync(group);
    stack.defer('control group', async () => rmdirSync(group));
    return group;
  }

  try {
    limit(createGroup('test'), PERIOD_US);
  } catch {
    return undefined;
  }
  return {
    set(pids, cores) {
      for (const pid of pids) {
        if (cores === undefined) {
          writeFileSync(join(root, 'cgroup.procs'), String(pid));
          continue;
        }
        const group = groups.get(pid) ?? createGroup(String(pid));
        groups.set(pid, group);
        limit(group, Math.round(cores * PERIOD_US));
        writeFileSync(join(group, 'cgroup.procs'), String(pid));
      }
    },
  };
}
