import { eventually } from '@uswarm/testkit/eventually';
import { fold, type FoldedWorkspace, type Payload } from './folded-workspace.js';
import { FoldingClient, type Place } from './folding-client.js';

const SUBSCRIBE_WITHIN_MS = 10_000;
const RETRY_MS = 500;
/** The events that contain an object, and the field with it. */
const OBJECTS = ['message', 'conversation', 'workspace'] as const;

interface Subscribed {
  workspace_ids?: string[];
  rejected?: { workspace_id: string; code: string }[];
}

/**
 * A client on a gateway of release 0.2, which knows only specified events: after each connect it subscribes to its
 * workspaces, and reads them again. Such a gateway does not repair a loss, which the client sees after its next
 * connect.
 */
export class PlainClient extends FoldingClient {
  /** The number of answers whose end it has received. */
  answers = 0;
  /** Events in workspaces that are being read. */
  private readonly waiting = new Map<string, [name: string, payload: Payload][]>();
  private reading: Promise<void> = Promise.resolve();
  /** Increases with each connect. */
  private connects = 0;

  constructor(place: Place, token: string, number: number) {
    super(place, token, number);
    // Such a gateway refuses connections for transient faults, after which socket.io clients do not connect again.
    this.socket.on('connect_error', () => {
      if (this.socket.active) return;
      setTimeout(() => this.goOnline(), RETRY_MS).unref();
    });
  }

  override async join(): Promise<void> {
    this.socket.connect();
    await eventually(() => this.known.size > 0, { description: 'the client of the previous gateway has joined' });
  }

  /** Connects again, and reads all workspaces. */
  async reload(): Promise<void> {
    const { connects } = this;
    this.goOffline();
    this.goOnline();
    await eventually(() => this.connects > connects, { description: 'the previous gateway accepts a connection' });
    await this.reading;
  }

  protected override connected(): void {
    this.connects += 1;
    this.loading.clear();
    this.waiting.clear();
    this.reading = this.readAll();
    this.reading.catch(() => undefined);
  }

  private async readAll(): Promise<void> {
    const ids = await this.workspaceIds();
    for (const id of this.known.keys()) if (!ids.includes(id)) this.known.delete(id);
    await Promise.all(ids.map((id) => this.load(id)));
  }

  override load(workspaceId: string): Promise<void> {
    const running = this.loading.get(workspaceId);
    if (running !== undefined) return running;
    const loading = this.read(workspaceId, this.connects);
    this.loading.set(workspaceId, loading);
    return loading;
  }

  private async read(workspaceId: string, connect: number): Promise<void> {
    const isCurrent = (): boolean => connect === this.connects;
    this.waiting.set(workspaceId, []);
    while (isCurrent() && !(await this.isSubscribed(workspaceId))) await this.pause(RETRY_MS);
    const folded = await this.snapshot(workspaceId);
    if (!isCurrent()) return;
    const waiting = this.waiting.get(workspaceId) ?? [];
    this.waiting.delete(workspaceId);
    this.loading.delete(workspaceId);
    if (folded === undefined) return void this.known.delete(workspaceId);
    this.known.set(workspaceId, folded);
    for (const [name, payload] of waiting) this.apply(folded, name, payload);
  }

  /** @returns false if it must be tried again */
  private async isSubscribed(workspaceId: string): Promise<boolean> {
    try {
      const answer: Subscribed = await this.socket
        .timeout(SUBSCRIBE_WITHIN_MS)
        .emitWithAck('workspace.subscribe', { workspace_ids: [workspaceId] });
      const isGone = answer.rejected?.some(({ code }) => code === 'workspace_not_found') ?? false;
      return isGone || (answer.workspace_ids ?? []).includes(workspaceId);
    } catch {
      return false;
    }
  }

  protected override receive(name: string, payload: Payload): void {
    if (name === 'workspace.subscribed') return;
    if (name === 'message.done') this.answers += 1;
    const workspaceId = String(payload['workspace_id']);
    const waiting = this.waiting.get(workspaceId);
    if (waiting !== undefined) return void waiting.push([name, payload]);
    const folded = this.known.get(workspaceId);
    if (folded !== undefined) this.apply(folded, name, payload);
  }

  private apply(folded: FoldedWorkspace, name: string, payload: Payload): void {
    if (name !== 'message.chunk')
      return fold(folded, name, withRevisions(payload), (text) => this.violations.push(text));
    const {
      message_id: id,
      chunk,
      generation,
    } = payload as Record<'message_id' | 'chunk', string> & { generation: number };
    folded.streams.set(id, { generation, text: (folded.streams.get(id)?.text ?? '') + chunk });
  }
}

/** These events have no revisions. They arrive in the order of their sequences, and contain what is at least as new. */
function withRevisions(payload: Payload): Payload {
  const { seq: rev } = payload;
  const objects = OBJECTS.flatMap((field) => {
    const object = payload[field];
    return typeof object === 'object' && object !== null ? [[field, { ...object, rev }] as const] : [];
  });
  return { ...payload, ...Object.fromEntries(objects) };
}
