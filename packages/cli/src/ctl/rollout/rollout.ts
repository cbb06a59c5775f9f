import { ROLLOUT, type UserSwarm, USERSWARMS } from '@uswarm/contract/userswarm';
import { isNotFound, type KubeClient } from '@uswarm/kube-client';
import { Failure } from '../../failure.js';
import { type ClusterOptions, inCluster } from '../cluster.js';
import type { ClusterCommand } from '../cluster-arguments.js';
import type { CommandResult } from '../commands.js';
import { age, plain, table } from '../show.js';

const PAGE = 500;
/** More would not fit on a screen; JSON has all. */
const SHOWN = 20;

interface Waiting {
  name: string;
  phase: string;
  since_s: number | null;
  pending_revision: string | null;
  message: string;
}

/** Shows which runtimes wait for the current revision. @throws Failure */
export async function rolloutStatus(
  command: Extract<ClusterCommand, { name: 'rollout status' }> & ClusterOptions,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<CommandResult> {
  return inCluster(command, environment, async (client) => {
    const swarms = await allSwarms(client);
    const waiting = swarms
      .flatMap((swarm) => waitOf(swarm, now))
      .toSorted((a, b) => (b.since_s ?? 0) - (a.since_s ?? 0));
    const json = { total: swarms.length, up_to_date: swarms.length - waiting.length, waiting };
    return { json, text: statusText(json) };
  });
}

/** Lets a runtime change to the current revision now, even during a turn. @throws Failure */
export async function rolloutForce(
  command: Extract<ClusterCommand, { name: 'rollout force' }> & ClusterOptions,
  environment: Record<string, string | undefined>,
  now: Date = new Date(),
): Promise<CommandResult> {
  const { swarm: name } = command;
  return inCluster(command, environment, async (client) => {
    const swarm = await read(client, name);
    const revision = swarm.status?.pendingRevision;
    if (revision === undefined || revision === '') {
      throw new Failure(
        `${name} does not wait for a rollout. List the runtimes that do with uswarmctl rollout status.`,
      );
    }
    const annotations = {
      [ROLLOUT.forced]: 'true',
      [ROLLOUT.time]: now.toISOString().replace(/\.\d+/, ''),
      [ROLLOUT.revision]: revision,
    };
    await client.mergePatch(USERSWARMS, { name }, { metadata: { annotations } });
    return { json: { name, revision }, text: `${name} changes to revision ${plain(revision)} now.` };
  });
}

async function read(client: KubeClient, name: string): Promise<UserSwarm> {
  try {
    return (await client.get(USERSWARMS, { name })) as unknown as UserSwarm;
  } catch (cause) {
    if (!isNotFound(cause)) throw cause;
    throw new Failure(`UserSwarm ${name} not found. List them with kubectl get uswarm.`, { cause });
  }
}

async function allSwarms(client: KubeClient): Promise<UserSwarm[]> {
  const found: UserSwarm[] = [];
  let continueToken: string | undefined;
  do {
    const page = await client.list(USERSWARMS, { limit: PAGE, continueToken });
    found.push(...(page.items as unknown as UserSwarm[]));
    ({ continueToken } = page);
  } while (continueToken !== undefined);
  return found;
}

function waitOf({ metadata, status }: UserSwarm, now: Date): Waiting[] {
  const condition = status?.conditions?.find(({ type }) => type === 'UpToDate');
  if (condition?.status !== 'False') return [];
  const since = Date.parse(condition.lastTransitionTime);
  return [
    {
      name: metadata.name,
      phase: status?.phase ?? 'Pending',
      since_s: Number.isNaN(since) ? null : Math.max(0, Math.round((now.getTime() - since) / 1_000)),
      pending_revision: status?.pendingRevision ?? null,
      message: condition.message,
    },
  ];
}

function statusText({ total, up_to_date, waiting }: { total: number; up_to_date: number; waiting: Waiting[] }): string {
  const summary = `${up_to_date} of ${total} runtimes are up to date.`;
  if (waiting.length === 0) return summary;
  const rows = waiting
    .slice(0, SHOWN)
    .map(({ name, phase, since_s, message }) => [name, phase, since_s === null ? '-' : age(since_s), plain(message)]);
  const more = waiting.length > SHOWN ? [`${waiting.length - SHOWN} more wait; --json lists all.`] : [];
  return [summary, '', table(['WAITING', 'PHASE', 'SINCE', 'MESSAGE'], rows), ...more].join('\n');
}
