import { randomUUIDv7 } from 'node:crypto';
import type { Conversation, ConversationPage, MessageData, MessagePage, Workspace } from '@uswarm/contract';
import fc from 'fast-check';
import { createWithTransaction } from '../../src/platform/database/transaction.js';
import { createEventRenderer } from '../../src/events/event-payloads.js';
import { createStores, type Stores } from '../stores.js';
import { first, type Home, type TestOrchestrator, type TestUser } from '../test-orchestrator.js';
import { currentViewContext } from '../view-context.js';
import { type Received, type Shown, shownBy } from './merging-client.js';
import { updateMessage } from '../../src/records/message-rows.js';
import { updateRuntime } from '../../src/records/runtimes.store.js';

/** A write that changes what clients see. `pick` selects its object. */
export interface Write {
  kind:
    | 'say'
    | 'edit'
    | 'delete message'
    | 'begin reply'
    | 'end reply'
    | 'offer card'
    | 'wait for card'
    | 'call tool'
    | 'mark read'
    | 'rename conversation'
    | 'reset title'
    | 'create conversation'
    | 'delete conversation'
    | 'rename workspace'
    | 'rename user'
    | 'change phase';
  pick: number;
}

const KINDS: readonly Write['kind'][] = [
  'say',
  'edit',
  'delete message',
  'begin reply',
  'end reply',
  'offer card',
  'wait for card',
  'call tool',
  'mark read',
  'rename conversation',
  'reset title',
  'create conversation',
  'delete conversation',
  'rename workspace',
  'rename user',
  'change phase',
];

export const writes: fc.Arbitrary<Write[]> = fc.array(
  fc.record({ kind: fc.constantFrom(...KINDS), pick: fc.nat({ max: 20 }) }),
  { minLength: 3, maxLength: 14 },
);

interface WriterDeps {
  uswarm: TestOrchestrator;
  user: TestUser;
  home: Home;
}

/** Writes to a workspace, and reads it as clients do. */
export class WorkspaceWriter {
  readonly #deps: WriterDeps;
  readonly #stores: Stores;
  #count = 0;

  constructor(deps: WriterDeps) {
    this.#deps = deps;
    this.#stores = createStores(deps.uswarm.database);
  }

  get #path(): string {
    return this.#deps.home.workspace;
  }

  async conversations(): Promise<Conversation[]> {
    return (await this.#deps.user.get<ConversationPage>(`${this.#path}/conversations`)).body.data;
  }

  async messages(): Promise<MessageData[]> {
    const lists = await Promise.all((await this.conversations()).map(({ id }) => this.#listed(id)));
    return lists.flat();
  }

  async #listed(conversationId: string): Promise<MessageData[]> {
    const path = `${this.#path}/conversations/${conversationId}/messages?limit=100`;
    const { status, body } = await this.#deps.user.raw<MessagePage>({ method: 'GET', path });
    // The conversation was deleted after the conversation list was read.
    return status === 404 ? [] : body.data;
  }

  async #workspace(): Promise<Workspace> {
    return (await this.#deps.user.get<{ data: Workspace }>(this.#path)).body.data;
  }

  async objects(): Promise<Received[]> {
    return [
      { workspace: await this.#workspace() },
      ...(await this.conversations()).map((conversation) => ({ conversation })),
      ...(await this.messages()).map((message) => ({ message })),
    ];
  }

  /** All objects, read one after another, with the first response's sequence. */
  async objectsWithPosition(): Promise<{ objects: Received[]; position: number }> {
    const { headers } = await this.#deps.user.get(this.#path);
    return { objects: await this.objects(), position: Number(String(headers['x-workspace-position']).split(':')[1]) };
  }

  async shown(): Promise<Shown> {
    return shownBy(await this.#workspace(), await this.conversations(), await this.messages());
  }

  /** Events after a seq, with their current bodies, and the last seq. */
  async events(after: number): Promise<{ events: Received[]; lastSeq: number }> {
    const { database } = this.#deps.uswarm;
    const render = createEventRenderer({ ...this.#stores, createViewContext: currentViewContext });
    const found = await this.#stores.events.after(this.#deps.home.workspaceId, after, 1_000, database);
    const rendered = await render(found, database);
    return {
      events: rendered.flatMap((event) =>
        event.kind === 'durable' ? [{ event: event.event, payload: event.payload as Record<string, unknown> }] : [],
      ),
      lastSeq: found.at(-1)?.seq ?? after,
    };
  }

  async write({ kind, pick }: Write): Promise<void> {
    const { user } = this.#deps;
    this.#count += 1;
    const text = `${kind} ${this.#count}`;
    const conversations = await this.conversations();
    const conversation = conversations[pick % Math.max(1, conversations.length)];
    if (conversation === undefined) return;
    const path = `${this.#path}/conversations/${conversation.id}`;
    const messages = await this.#listed(conversation.id);
    const message = messages[pick % Math.max(1, messages.length)];
    switch (kind) {
      case 'say':
        await user.post(`${path}/messages`, { content: { type: 'text', text } }, 201);
        return;
      case 'edit': {
        const latest = messages.find(({ role }) => role === 'user');
        const body = JSON.stringify({ content: { type: 'text', text } });
        if (latest !== undefined) await this.#attempt('PATCH', `${this.#path}/messages/${latest.id}`, body);
        return;
      }
      case 'delete message':
        if (message !== undefined) await this.#attempt('DELETE', `${this.#path}/messages/${message.id}`);
        return;
      case 'begin reply':
        await this.#insert(conversation.id, { type: 'loading' });
        return;
      case 'end reply':
        await this.#end(messages.find(({ content }) => content.type === 'loading')?.id, text);
        return;
      case 'offer card':
        await this.#insert(conversation.id, { type: 'action_card', title: text, description: '', actions: [] });
        return;
      case 'wait for card':
        await this.#place(
          conversation.id,
          messages.find(({ content }) => content.type === 'loading')?.id ?? null,
          text,
        );
        return;
      case 'call tool':
        await this.#insert(conversation.id, { type: 'tool_status', tool: 't', description: text, state: 'running' });
        return;
      case 'mark read':
        await user.post(`${path}/read`, pick % 2 === 0 || message === undefined ? {} : { message_id: message.id }, 204);
        return;
      case 'rename conversation':
        await user.patch(path, { title: text }, 200);
        return;
      case 'reset title':
        await user.patch(path, { title: null }, 200);
        return;
      case 'create conversation':
        await user.post(`${this.#path}/conversations`, { type: 'swarm' }, 201);
        return;
      case 'delete conversation':
        if (conversations.length > 1) await user.delete(path, undefined, 204);
        return;
      case 'rename workspace':
        await user.patch(this.#path, { name: text }, 200);
        return;
      case 'rename user':
        await user.patch('/v1/users', { nickname: text }, 204);
        return;
      case 'change phase':
        await this.#changePhase(pick % 2 === 0 ? 'Ready' : 'Progressing');
    }
  }

  /** Message rules may refuse the request. */
  async #attempt(method: 'PATCH' | 'DELETE', path: string, body?: string): Promise<void> {
    const headers = { 'content-type': 'application/json' };
    const { status } = await this.#deps.user.raw({ method, path, ...(body === undefined ? {} : { body, headers }) });
    if (status >= 500) throw new Error(`${method} ${path} failed`);
  }

  #transaction(run: (tx: Parameters<Stores['events']['append']>[1]) => Promise<void>): Promise<void> {
    return createWithTransaction(this.#deps.uswarm.database)(run);
  }

  /** Writes an agent's message, as turns do. */
  #insert(conversationId: string, content: MessageData['content']): Promise<void> {
    const { workspaceId, agents } = this.#deps.home;
    const id = randomUUIDv7();
    return this.#transaction(async (tx) => {
      const message = { id, workspaceId, conversationId, agentId: first(agents).id, content };
      await this.#stores.events.addMessage({ ...message, role: 'agent', status: 'delivered' }, tx);
    });
  }

  /** Shows what a turn waits for in its reply's place. */
  async #place(conversationId: string, replyId: string | null, text: string): Promise<void> {
    const { workspaceId, agents } = this.#deps.home;
    await this.#transaction(async (tx) => {
      const ofConversation = tx.selectFrom('turns').select('id').where('conversation_id', '=', conversationId);
      const turn = await ofConversation.limit(1).executeTakeFirst();
      if (turn === undefined) return;
      await this.#stores.events.lock(workspaceId, tx);
      await tx.updateTable('turns').set({ reply_message_id: replyId }).where('id', '=', turn.id).execute();
      const content = { type: 'action_card' as const, title: text, description: '', actions: [] };
      const place = { id: randomUUIDv7(), workspaceId, conversationId, agentId: first(agents).id };
      await this.#stores.events.placeMessage({ ...place, content, turn: { id: turn.id, key: text } }, tx);
    });
  }

  async #end(id: string | undefined, text: string): Promise<void> {
    if (id === undefined) return;
    const { workspaceId } = this.#deps.home;
    await this.#transaction(async (tx) => {
      const shownSeq = await this.#stores.events.append({ workspaceId, type: 'message.updated', subjectId: id }, tx);
      await updateMessage(tx, id, { content: { type: 'text', text }, status: 'delivered', shownSeq });
      await this.#stores.events.append({ workspaceId, type: 'message.done', subjectId: id }, tx);
    });
  }

  #changePhase(phase: 'Ready' | 'Progressing'): Promise<void> {
    const { workspaceId } = this.#deps.home;
    return this.#transaction(async (tx) => {
      await updateRuntime(tx, workspaceId, { phase });
      await this.#stores.events.append({ workspaceId, type: 'workspace.updated', subjectId: workspaceId }, tx);
    });
  }
}
