import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import {
  type Artifact,
  ERRORS,
  type ErrorCode,
  type MessageData,
  type MessageSend,
  type Workspace,
} from '@uswarm/contract';
import { checkResponse, checkServerEvent } from '@uswarm/contract/checks';
import { Server, type Namespace } from 'socket.io';
import {
  agent,
  at,
  conversationId,
  idToken,
  liveMessage,
  messageId,
  ready,
  workspaceId,
  type ScriptContext,
  type Script,
} from './script.js';

export interface FakeOptions {
  workspaces?: Workspace[];
  /** Rejects connections with this code. */
  rejectWith?: ErrorCode;
  conversations?: 'none';
  /** Rejects each subscribe with this code. If it is retryable, the subscription follows. */
  rejectSubscribe?: ErrorCode;
  onSubscribe?: (emit: ScriptContext['emit']) => void;
  /** Called for POST requests about a message: `<message id>/action` with the action, `<message id>/stop`. */
  onPost?: (path: string, body: { action_id?: string }, emit: ScriptContext['emit']) => void;
  /** Called after each response with messages. */
  onList?: (emit: ScriptContext['emit']) => void;
  artifact?: Artifact;
}

const ONE_PAGE = { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false };

/** Responses contain all events up to this position. */
const JSON_TYPE = { 'content-type': 'application/json', 'x-workspace-position': 'e1:0' };

const errorBody = (code: ErrorCode) => ({ message: ERRORS[code].message, code, extra: { request_id: 'r' } });

/** A server that runs the script for each user message. Its responses and events are checked against the contract. */
export async function startFakeUswarm(script: Script, options: FakeOptions = {}) {
  const {
    workspaces = [ready],
    rejectWith,
    rejectSubscribe,
    conversations,
    onSubscribe,
    onPost,
    onList,
    artifact,
  } = options;
  let stored: MessageData[] = [];
  const routes = routesOf({ workspaces, conversations, artifact, stored: () => stored });
  const requests: string[] = [];

  async function respondToPost(path: string, request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = (await text(request)) || '{}';
    onPost?.(path, JSON.parse(body) as { action_id?: string }, emitToAll);
    const card = stored.find(({ id }) => path.startsWith(id));
    const data = card === undefined ? undefined : { data: liveMessage(card).message };
    const checked = { method: 'POST', path: request.url ?? '', status: data === undefined ? 204 : 200, body: data };
    checkResponse(checked);
    response.writeHead(checked.status).end(data === undefined ? undefined : JSON.stringify(data));
  }

  /** Without an acknowledgement by the script, the response is lost. */
  async function respondToMessage(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = JSON.parse(await text(request)) as MessageSend;
    const sent = { ...body, workspace_id: workspaceId, conversation_id: conversationId };
    let answer: [number, object] | undefined;
    const emit: ScriptContext['emit'] = (name, payload) => {
      const { code, error } = payload as { code: ErrorCode; error: string };
      if (name === 'message.send.ack') {
        const content = body.content as MessageData['content'];
        const own = { role: 'user', agent: null, content, local_id: body.local_id } as const;
        const { message: kept, ...event } = liveMessage({ ...own, id: messageId, status: 'delivered' });
        answer = [201, { data: kept }];
        emitToAll('message.new', { ...event, message: kept });
      } else if (name === 'message.send.error') answer = [ERRORS[code].status, { ...errorBody(code), message: error }];
      else emitToAll(name, payload);
    };
    const [socket] = io.of('/v1').sockets.values();
    if (socket !== undefined) script({ sent, emit, socket, store });
    if (answer === undefined) return void response.destroy();
    const [status, answered] = answer;
    checkResponse({ method: 'POST', path: request.url ?? '', status, body: answered });
    response.writeHead(status, JSON_TYPE).end(JSON.stringify(answered));
  }

  function respond(request: IncomingMessage, response: ServerResponse): void {
    const { method = 'GET', url = '/' } = request;
    const { pathname: path, searchParams: query } = new URL(url, 'http://localhost');
    requests.push(`${method} ${path}`);
    if (path === '/issuer/dev/token') return void response.end(JSON.stringify({ id_token: idToken }));
    if (method === 'POST' && path.endsWith('/messages')) return void respondToMessage(request, response);
    const about = path.split('/messages/')[1];
    if (method === 'POST' && about !== undefined) return void respondToPost(about, request, response);
    const authenticated = request.headers['x-token'] === idToken;
    const [status, body] = authenticated
      ? (routes[`${method} ${path}`] ?? [404, () => errorBody('route_not_found')])
      : ([401, () => errorBody('token_missing')] as const);
    const checked = { method, path, status, body: body(query) };
    checkResponse(checked);
    response.writeHead(status, JSON_TYPE).end(checked.body === undefined ? undefined : JSON.stringify(checked.body));
    if (path.endsWith('/messages')) response.once('finish', () => onList?.(emitToAll));
  }

  const server = createServer(respond);
  const io = new Server(server, { path: '/socket.io/' });
  const emitToAll: ScriptContext['emit'] = (name, payload) => {
    checkServerEvent(name, payload);
    io.of('/v1').emit(name, payload);
  };
  const store = (messages: MessageData[]) => void (stored = messages);
  serveSockets(io.of('/v1'), { rejectWith, rejectSubscribe, onSubscribe });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, requests, close: () => io.close() };
}

interface RestState {
  artifact: Artifact | undefined;
  workspaces: Workspace[];
  conversations: 'none' | undefined;
  stored: () => MessageData[];
}

/** A message page; a scroll id is the number of messages before it. */
function pageOf(messages: readonly MessageData[], query: URLSearchParams) {
  const start = Number(query.get('scrollId') ?? 0);
  const end = start + Number(query.get('limit'));
  const has_next = end < messages.length;
  return {
    data: messages.slice(start, end),
    pagination: { ...ONE_PAGE, has_next, next_scroll_id: has_next ? String(end) : null },
  };
}

function routesOf({
  workspaces,
  conversations,
  artifact,
  stored,
}: RestState): Record<string, [number, (query: URLSearchParams) => unknown]> {
  const conversation = {
    id: conversationId,
    type: 'swarm',
    title: 'Mine',
    created_at: at,
    updated_at: at,
    unread_count: 0,
    last_read_message_id: null,
    agent: null,
    last_message: null,
  };
  return {
    'POST /v1/auth/sign-up': [204, () => undefined],
    'GET /v1/workspaces': [200, () => ({ data: workspaces })],
    [`GET /v1/workspaces/${workspaceId}`]: [200, () => ({ data: workspaces[0] })],
    [`GET /v1/workspaces/${workspaceId}/agents`]: [200, () => ({ data: [{ ...agent, status: 'online' }] })],
    [`GET /v1/workspaces/${workspaceId}/conversations`]: [
      200,
      () => ({ data: conversations === 'none' ? [] : [conversation], pagination: ONE_PAGE }),
    ],
    [`POST /v1/workspaces/${workspaceId}/conversations`]: [201, () => ({ data: conversation })],
    [`GET /v1/workspaces/${workspaceId}/conversations/${conversationId}/messages`]: [
      200,
      (query) => pageOf(stored(), query),
    ],
    [`GET /v1/workspaces/${workspaceId}/artifacts`]: [
      200,
      () => ({ data: artifact === undefined ? [] : [summaryOf(artifact)], pagination: ONE_PAGE }),
    ],
    [`GET /v1/workspaces/${workspaceId}/artifacts/${artifact?.id}`]: [200, () => ({ data: artifact })],
  };
}

function summaryOf({ content: _, versions: _versions, latest_version: _latest, ...summary }: Artifact) {
  return summary;
}

interface SocketState {
  rejectWith: ErrorCode | undefined;
  rejectSubscribe: ErrorCode | undefined;
  onSubscribe: FakeOptions['onSubscribe'] | undefined;
}

function serveSockets(namespace: Namespace, options: SocketState): void {
  const { rejectWith, rejectSubscribe: rejection, onSubscribe } = options;
  namespace.use((socket, next) => {
    const code = rejectWith ?? (socket.handshake.auth['x-token'] === idToken ? undefined : 'token_invalid');
    next(code === undefined ? undefined : Object.assign(new Error(ERRORS[code].message), { data: { code } }));
  });
  namespace.on('connection', (socket) => {
    const emit = (name: string, payload: object) => {
      checkServerEvent(name, payload);
      socket.emit(name, payload);
    };
    socket.on('workspace.subscribe', ({ workspace_ids }: { workspace_ids: string[] }) => {
      if (rejection !== undefined) {
        const rejected = workspace_ids.map((workspace_id) => ({ workspace_id, code: rejection }));
        emit('workspace.subscribed', { workspace_ids: [], rejected, last_seq: {} });
        if (!ERRORS[rejection].retryable) return;
      }
      emit('workspace.subscribed', { workspace_ids, rejected: [], last_seq: {} });
      onSubscribe?.(emit);
    });
  });
}
