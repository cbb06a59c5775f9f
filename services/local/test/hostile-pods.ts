import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type AddressInfo, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { eventually } from '@uswarm/testkit/eventually';

const PROGRAM = path.resolve(import.meta.dirname, '../../agent-runtime/test/hostile-runtime.ts');

interface ResolvedCall {
  callId: string;
  text?: string;
  failed?: boolean;
  toolToken?: string;
}

/** Messages sent by a pod. Protocol messages are in their JSON form. */
type Told =
  | { got: 'hello'; workspaceId: string }
  | {
      got: 'turn';
      callToken: string;
      request: { toolToken?: string; modelToken?: string; turnId: string; journal?: object[]; history?: object[] };
    }
  | { got: 'advance'; request: { committedThrough?: string; resolutions?: ResolvedCall[] } }
  | { got: 'renew' | 'stop' }
  | { got: 'response'; id: number; status: number; text: string };
type ToldOf<Got extends Told['got']> = Extract<Told, { got: Got }>;

/** A process that serves the protocol of runtimes, and does what a test tells it. */
export interface HostilePod {
  /** The next turn that the orchestrator runs in it. */
  turn(): Promise<ToldOf<'turn'>>;
  /** True if the orchestrator runs a turn that was not taken. */
  hasTurn(): boolean;
  emit(event: object): void;
  /** The answer to a call. */
  resolution(callId: string): Promise<ResolvedCall>;
  /** Sends an HTTP request from the process. */
  fetch(
    url: string,
    init: { headers?: Record<string, string>; body?: string; method?: string },
  ): Promise<{
    status: number;
    text: string;
  }>;
}

export interface HostilePods {
  /** The value of RUNTIME_PROGRAM. */
  program: string;
  pod(workspaceId: string): Promise<HostilePod>;
  /** Everything that a workspace's pod received. */
  received(workspaceId: string): string;
  close(): Promise<void>;
}

/** Runs hostile runtimes under the process driver, one process per workspace. */
export async function startHostilePods(): Promise<HostilePods> {
  const sockets = new Map<string, { socket: Socket; told: Told[]; taken: number }>();
  const server = createServer((socket) => {
    const heard: Told[] = [];
    socket.on('error', () => undefined);
    createInterface({ input: socket }).on('line', (line) => {
      const one = JSON.parse(line) as Told;
      if (one.got === 'hello') sockets.set(one.workspaceId, { socket, told: heard, taken: 0 });
      heard.push(one);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const folder = await mkdtemp(path.join(tmpdir(), 'uswarm-hostile-'));
  const program = path.join(folder, 'runtime.mjs');
  const { port } = server.address() as AddressInfo;
  await writeFile(
    program,
    `process.env.USWARM_HOSTILE_CONTROL = '${port}';\nawait import(${JSON.stringify(PROGRAM)});\n`,
  );
  let requests = 0;

  return {
    program,
    async pod(workspaceId) {
      const connected = async () => sockets.get(workspaceId);
      const connection = (await eventually(connected, { until: (one) => one !== undefined }))!;
      const { socket, told: heard } = connection;
      const order = (one: object): void => void socket.write(`${JSON.stringify(one)}\n`);
      const turns = () => heard.filter((one) => one.got === 'turn');
      return {
        async turn() {
          const all = await eventually(async () => turns(), { until: (some) => some.length > connection.taken });
          return all[connection.taken++]!;
        },
        hasTurn: () => turns().length > connection.taken,
        emit: (event) => order({ order: 'emit', event }),
        async resolution(callId) {
          const latest = () =>
            heard
              .flatMap((one) => (one.got === 'advance' ? (one.request.resolutions ?? []) : []))
              .findLast((one) => one.callId === callId);
          return (await eventually(async () => latest(), { until: (one) => one !== undefined }))!;
        },
        async fetch(url, { method = 'POST', headers = {}, body }) {
          const id = (requests += 1);
          order({ order: 'fetch', id, url, method, headers, body });
          const response = () => heard.find((one) => one.got === 'response' && one.id === id);
          const answer = (await eventually(async () => response(), { until: (one) => one !== undefined }))!;
          return answer as ToldOf<'response'>;
        },
      };
    },
    received: (workspaceId) => JSON.stringify(sockets.get(workspaceId)?.told),
    async close() {
      for (const { socket } of sockets.values()) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      await rm(folder, { recursive: true, force: true });
    },
  };
}
