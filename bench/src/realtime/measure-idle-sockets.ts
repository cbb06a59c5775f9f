import { setTimeout as sleep } from 'node:timers/promises';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { memoryMiB } from '../runtime/measure-start.js';
import { cpuSeconds } from '../world/processes.js';
import { connectAll, startClients } from './clients/client-process.js';
import type { ClientSpec } from './clients/commands.js';
import { type Peer, startPeer } from './peers.js';
import type { RealtimeWorld } from './realtime-world.js';

export interface IdleSockets {
  server: 'uswarm' | Peer;
  workspaces: number;
  /** Resident KiB per socket, with the handshakes' garbage and without it. */
  atRestKiB: number;
  collectedKiB: number;
  /** Sockets per second while they connected and subscribed, and the server's processor milliseconds per socket. */
  perSecond: number;
  cpuMs: number;
  /** The server's processor time at rest, in cores per 10,000 sockets. */
  restCores: number;
}

/** Clients in two processes, so that none of them is the limit. */
const PROCESSES = 2;
const WARM_UP = 50;
/** Resume tokens are sent again a second after a subscription. */
const REST_MS = 6_000;

const residentKiB = (pid: number): number => memoryMiB(pid, 'VmRSS') * 1_024;

/** Resident KiB after the garbage was collected. */
export async function collectedKiB(pid: number): Promise<number> {
  for (let n = 0; n < 3; n += 1) {
    process.kill(pid, 'SIGUSR2');
    await sleep(700);
  }
  return residentKiB(pid);
}

/** Measures a new server's memory with idle sockets. */
export async function measureIdleSockets(
  world: RealtimeWorld,
  server: 'uswarm' | Peer,
  { sockets, workspaces }: { sockets: number; workspaces: number },
): Promise<IdleSockets> {
  const stack = new CloseStack(silentLogger);
  try {
    const { url, pid } =
      server === 'uswarm'
        ? await world.startGateway(`gateway-${workspaces}`, stack)
        : await startPeer(server, world.valkey.url, stack);
    const spec = (user: number): ClientSpec => ({ ...world.spec(url, user, workspaces), kind: server });
    const all = Array.from({ length: sockets }, (_, user) => spec(user));
    const processes = Array.from({ length: PROCESSES }, () => startClients(stack));
    await connectAll(processes, all.slice(0, WARM_UP));
    for (const each of processes) await each.ask<'close'>({ do: 'close' });
    const before = await collectedKiB(pid);

    const [from, cpu] = [performance.now(), cpuSeconds(pid) ?? Number.NaN];
    await connectAll(processes, all);
    const passed = (performance.now() - from) / 1_000;
    const connectCpu = (cpuSeconds(pid) ?? Number.NaN) - cpu;
    await sleep(REST_MS / 2);
    const restFrom = cpuSeconds(pid) ?? Number.NaN;
    await sleep(REST_MS);
    const restCpu = (cpuSeconds(pid) ?? Number.NaN) - restFrom;
    const atRest = residentKiB(pid);
    const collected = await collectedKiB(pid);
    return {
      server,
      workspaces,
      atRestKiB: (atRest - before) / sockets,
      collectedKiB: (collected - before) / sockets,
      perSecond: sockets / passed,
      cpuMs: (connectCpu * 1_000) / sockets,
      restCores: (restCpu / (REST_MS / 1_000)) * (10_000 / sockets),
    };
  } finally {
    await stack.close();
  }
}
