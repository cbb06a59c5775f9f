import { eventually } from '@uswarm/testkit/eventually';
import { NAMESPACE } from './fixtures.js';
import type { Kinds } from './kinds.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';

/** One container of one pod. */
export interface Target {
  namespace: string;
  pod: string;
  container: string;
}

export interface ContainerKiller {
  /** Stops all of a container's processes with SIGSTOP. */
  freeze(target: Target): Promise<void>;
  /** Stops all of a container's processes for 1.5 of every 2 seconds. Resolves after the given time. */
  pulse(target: Target, forMs: number): Promise<void>;
  /** Kills all of a container's processes with SIGKILL. */
  kill(target: Target): Promise<KilledContainer>;
}

export interface KilledContainer {
  /** Resolves when the container is replaced or its pod is deleted. */
  replaced(): Promise<void>;
}

/** Runs as root in the node's PID namespace; the argument is a container id. */
const FIND = `
const { readdirSync, readFileSync } = require('node:fs');
const inContainer = (pid) => {
  try {
    return readFileSync('/proc/' + pid + '/cgroup', 'utf8').includes(process.argv[1]);
  } catch {
    return false;
  }
};
const found = readdirSync('/proc').map(Number).filter((pid) => pid > 1 && inContainer(pid));
if (found.length === 0) throw new Error('no process of ' + process.argv[1]);
const signal = (name) => {
  for (const pid of found) {
    try {
      process.kill(pid, name);
    } catch (error) {
      // The other processes end with the first one.
      if (error.code !== 'ESRCH') throw error;
    }
  }
};
`;
const KILL = `${FIND} signal('SIGKILL');`;
const FREEZE = `${FIND} signal('SIGSTOP');`;
/** Runs in the pod, because each command goes through the API server, which may be the target or need it. */
const PULSE = `${FIND}
const { setTimeout: sleep } = require('node:timers/promises');
(async () => {
  for (const end = Date.now() + Number(process.argv[2]); Date.now() < end;) {
    signal('SIGSTOP');
    await sleep(1500);
    signal('SIGCONT');
    await sleep(500);
  }
})().finally(() => signal('SIGCONT'));
`;

const POD = { name: 'container-killer', namespace: NAMESPACE.edge };

/** Starts a pod in the PID namespace of its node; it is deleted when the session is closed. */
export async function openContainerKiller({ api, onClose, settings, tools }: Session): Promise<ContainerKiller> {
  const { kubectl } = tools;
  const where = ['-n', POD.namespace];
  await api.create('Pod', {
    metadata: POD,
    spec: {
      hostPID: true,
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 0,
      tolerations: [{ operator: 'Exists' }],
      containers: [
        {
          name: 'container-killer',
          image: imageOf(settings.images, 'agent-runtime'),
          imagePullPolicy: 'IfNotPresent',
          command: ['node', '-e', 'setInterval(() => {}, 60_000)'],
          securityContext: { runAsUser: 0, runAsNonRoot: false },
          resources: { requests: { cpu: '10m', memory: '32Mi' } },
        },
      ],
    },
  });
  onClose(() => kubectl(['delete', 'pod', POD.name, ...where, '--ignore-not-found']));
  await kubectl(['wait', `pod/${POD.name}`, ...where, '--for=condition=Ready', '--timeout=60s'], { timeoutMs: 70_000 });
  const find = async (target: Target) => {
    const found = containerOf(await api.get('Pod', { name: target.pod, namespace: target.namespace }), target);
    const id = found.containerID?.split('//')[1] ?? '';
    // A shorter id would match other paths.
    if (!/^[0-9a-f]{64}$/.test(id)) throw new Error(`${target.container} of ${target.pod} does not run`);
    return { before: found, id };
  };
  const exec = (script: string, ...args: string[]): string[] => [
    'exec',
    POD.name,
    ...where,
    '--',
    'node',
    '-e',
    script,
    ...args,
  ];
  return {
    async freeze(target) {
      await kubectl(exec(FREEZE, (await find(target)).id));
    },
    async pulse(target, forMs) {
      const { id } = await find(target);
      await kubectl(exec(PULSE, id, String(forMs)), { mayFail: true, timeoutMs: forMs + 60_000 });
    },
    async kill(target) {
      const { before, id } = await find(target);
      // The exec goes through the API server, which may be the target, so its result is ignored.
      const ran = await kubectl(exec(KILL, id), { mayFail: true });
      const replaced = async (): Promise<true> => {
        const pod = await api.find('Pod', { name: target.pod, namespace: target.namespace });
        if (pod === undefined || containerOf(pod, target).containerID !== before.containerID) return true;
        throw new Error(`it keeps running; output: ${ran.stdout}${ran.stderr}`);
      };
      return {
        async replaced() {
          await eventually(replaced, {
            description: `${target.container} of ${target.pod} was killed`,
            timeoutMs: 120_000,
          });
        },
      };
    },
  };
}

function containerOf(pod: Kinds['Pod'], { container }: Pick<Target, 'container'>) {
  const found = pod.status?.containerStatuses?.find(({ name }) => name === container);
  if (found === undefined) throw new Error(`the pod ${pod.metadata?.name} has no container ${container}`);
  return found;
}
