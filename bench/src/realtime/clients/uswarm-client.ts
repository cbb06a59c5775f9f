import { io, type Socket } from 'socket.io-client';
import { BenchError } from '../../settings.js';
import { monotonicMs } from '../../turns/observations.js';
import { type ClientSpec, type ClientState, type Outage, PROBE } from './commands.js';

/** A benchmark client. */
export interface Client {
  /** Resolves when the client is subscribed. @throws Error if it is refused */
  open(): Promise<void>;
  state(): ClientState;
  close(): void;
}

/** What a client applies, as an app does: the events after its position, in order. */
interface Positioned {
  workspace_id: string;
  seq?: number;
}

interface Subscribed {
  last_seq: Record<string, number>;
  epoch?: Record<string, string>;
  rejected: readonly unknown[];
}

const REFUSED_MS = 60_000;

/** A client for the socket API. It reconnects by itself, with its resume token and its positions. */
export class UswarmClient implements Client {
  readonly #spec: ClientSpec;
  readonly #probed: (ms: number) => void;
  readonly #socket: Socket;
  readonly #applied = new Map<string, number>();
  readonly #outages: Outage[] = [];
  #epoch = new Map<string, string>();
  #resumeToken: string | undefined;
  readonly #subscribed = Promise.withResolvers<void>();
  readonly #reached = new Map<string, { seq: number; resolve: () => void }>();

  /** @param wrote is called with each streamed text part */
  constructor(spec: ClientSpec, probed: (ms: number) => void, wrote?: (chunk: string) => void) {
    this.#spec = spec;
    this.#probed = probed;
    this.#socket = io(`${spec.url}/v1`, {
      forceNew: true,
      autoConnect: false,
      transports: ['websocket'],
      auth: (send) => {
        const token = this.#resumeToken;
        send(token === undefined ? spec.auth : { ...spec.auth, resume_token: token });
      },
    });
    this.#listen();
    if (wrote !== undefined) this.#socket.on('message.chunk', ({ chunk }: { chunk: string }) => wrote(chunk));
  }

  #listen(): void {
    const socket = this.#socket;
    socket.on('connect', () => this.#subscribe());
    socket.on('disconnect', () => this.#outages.push({ from: monotonicMs(), to: null }));
    socket.on('connect_error', (error) => {
      // Otherwise the client connects again by itself.
      if (!socket.active) this.#subscribed.reject(new BenchError(`A client was refused: ${error.message}`));
    });
    socket.on('session.ready', ({ resume_token }: { resume_token: string }) => (this.#resumeToken = resume_token));
    socket.on('workspace.subscribed', (subscribed: Subscribed) => this.#ready(subscribed));
    socket.onAny((event: string, payload: Positioned & { query?: string }) => {
      if (event === PROBE) this.#probed(monotonicMs() - Number(payload.query));
      else if (event !== 'workspace.subscribed' && payload.seq !== undefined)
        this.#apply(payload.workspace_id, payload.seq);
    });
  }

  #subscribe(): void {
    const { workspaceIds } = this.#spec;
    const since = Object.fromEntries(
      [...this.#applied].map(([id, seq]) => [id, `${this.#epoch.get(id) ?? ''}:${seq}`]),
    );
    this.#socket.emit('workspace.subscribe', { workspace_ids: workspaceIds, since });
  }

  #ready({ last_seq, epoch, rejected }: Subscribed): void {
    if (rejected.length > 0)
      this.#subscribed.reject(new BenchError(`A subscription was rejected: ${JSON.stringify(rejected)}`));
    this.#epoch = new Map(Object.entries(epoch ?? {}));
    for (const [id, seq] of Object.entries(last_seq)) if (!this.#applied.has(id)) this.#applied.set(id, seq);
    const outage = this.#outages.at(-1);
    if (outage !== undefined) outage.to ??= monotonicMs();
    this.#subscribed.resolve();
  }

  #apply(workspaceId: string, seq: number): void {
    if (seq <= (this.#applied.get(workspaceId) ?? 0)) return;
    this.#applied.set(workspaceId, seq);
    const awaited = this.#reached.get(workspaceId);
    if (awaited !== undefined && seq >= awaited.seq) awaited.resolve();
  }

  open(): Promise<void> {
    this.#socket.connect();
    return this.#subscribed.promise;
  }

  /** Connects again and waits for the last events. @returns the milliseconds from the connect to the last one */
  async resume(missing: number): Promise<number> {
    const [workspaceId = ''] = this.#spec.workspaceIds;
    const seq = this.#applied.get(workspaceId) ?? 0;
    this.#socket.disconnect();
    this.#applied.set(workspaceId, seq - missing);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#reached.set(workspaceId, { seq, resolve });
    const late = setTimeout(() => reject(new BenchError('Missed events did not arrive.')), REFUSED_MS);
    const from = monotonicMs();
    this.#socket.connect();
    await promise.finally(() => clearTimeout(late));
    this.#reached.delete(workspaceId);
    return monotonicMs() - from;
  }

  state(): ClientState {
    return { outages: this.#outages, applied: Object.fromEntries(this.#applied) };
  }

  close(): void {
    this.#socket.disconnect();
  }
}
