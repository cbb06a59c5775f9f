import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { CLIENT_EVENTS, findRoute, type MessageData, POSITION_HEADER } from '@uswarm/contract';
import { checkedAnswer, errorBody, type Failure, failureAnswer, type RestAnswer, withLaterCode } from './checks.js';
import type { ScriptedServer } from './scripted-server.js';

/** Undefined: the connection is closed without a response. */
type Answer = RestAnswer | undefined;

interface Call {
  params: Record<string, string>;
  query: URLSearchParams;
  body: string;
}

const NOT_FOUND = (code: Failure['code']): RestAnswer => failureAnswer({ code });
const ONE_PAGE = { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false };

/** Answers the requests that clients need. Responses are checked against the contract. */
export function createRest(server: ScriptedServer) {
  const operations = createOperations(server);

  async function answerOf(request: IncomingMessage, path: string, query: URLSearchParams): Promise<Answer> {
    const { method = 'GET' } = request;
    const route = findRoute(method, path);
    if (route === undefined) return NOT_FOUND('route_not_found');
    const planned = server.plannedFailure(route.operationId);
    if (planned !== undefined) return failureAnswer(planned);
    const token = headerOf(request, 'x-token') ?? headerOf(request, 'authorization')?.replace(/^Bearer +/i, '');
    const refusal = route.auth === 'public' ? undefined : server.refusal(token);
    if (refusal === 'transient') return failureAnswer({ code: 'service_unavailable', retryAfterMs: 300 });
    if (refusal !== undefined) return failureAnswer(refusal);
    const operation = operations[route.operationId];
    if (operation === undefined) return failureAnswer({ code: 'internal_error' });
    const position = route.position === undefined ? {} : { [POSITION_HEADER]: server.world.position };
    const answer = await operation({ params: paramsOf(route.path, path), query, body: await text(request) });
    if (answer === undefined || answer.status >= 400) return answer;
    return { ...answer, headers: { ...position, ...answer.headers } };
  }

  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', 'http://localhost');
    if (path === '/token') return void response.end(server.token);
    const { method = 'GET' } = request;
    const answer = await answerOf(request, path, query);
    if (answer === undefined) return void request.socket.destroy();
    const { laterCode, after, ...known } = answer as RestAnswer & { laterCode?: string; after?: () => void };
    const { status, body, headers } = checkedAnswer(method, path, known);
    const sent = laterCode === undefined ? body : withLaterCode(body as { code: string }, laterCode);
    response.writeHead(status, { ...(sent !== undefined && { 'content-type': 'application/json' }), ...headers });
    response.end(sent === undefined ? undefined : JSON.stringify(sent), () => after?.());
  };
}

const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name];
  return typeof value === 'string' ? value : undefined;
};

function paramsOf(template: string, path: string): Record<string, string> {
  const values = path.split('/');
  const named = template.split('/').map((part, index) => [/^\{(.+)\}$/.exec(part)?.[1], values[index]] as const);
  return Object.fromEntries(named.filter((pair): pair is [string, string] => pair[0] !== undefined));
}

function createOperations(server: ScriptedServer): Record<string, (call: Call) => Answer | Promise<Answer>> {
  const { world } = server;
  const ok = (body: unknown): RestAnswer => ({ status: 200, body });
  const agent = { id: world.agentId, name: 'Manager', role: 'Manager', slug: 'manager', avatar: '', status: 'online' };
  const inConversation = (answer: (call: Call) => Answer | Promise<Answer>) => (call: Call) =>
    world.deleted || call.params['id'] !== world.conversationId ? NOT_FOUND('conversation_not_found') : answer(call);
  return {
    getHealth: () => ok({ data: { online: true, version: '0.3.0' } }),
    signUp: () => ({ status: 204, body: undefined }),
    listWorkspaces: () => ok({ data: [world.workspace()] }),
    getWorkspace: () => ok({ data: world.workspace() }),
    listAgents: () => ok({ data: [agent] }),
    listConversations: () => ok({ data: world.deleted ? [] : [world.conversation()], pagination: ONE_PAGE }),
    getConversation: inConversation(() => ok({ data: world.conversation() })),
    markConversationRead: inConversation(() => {
      world.read();
      return { status: 204, body: undefined };
    }),
    getMessage({ params }) {
      const message = world.messages.find(({ id }) => id === params['id']);
      return message === undefined ? NOT_FOUND('message_not_found') : ok({ data: message });
    },
    listMessages: inConversation(({ query }) => {
      const answer = {
        ...ok(pageOf(world.ordered, query)),
        // Read with the page: `onSnapshot` can store more messages before the response is sent.
        headers: { [POSITION_HEADER]: world.position },
      };
      server.seen.add({ kind: 'snapshot' });
      server.onSnapshot();
      return answer;
    }),
    sendMessage: inConversation(({ body }) => sendMessage(server, body)),
  };
}

/** The route body; its `local_id` is optional for the service, but not for a client that retries. */
const SendMessageBody = CLIENT_EVENTS['message.send'].payload.omit({ workspace_id: true, conversation_id: true });

async function sendMessage(server: ScriptedServer, body: string): Promise<Answer> {
  const parsed = SendMessageBody.safeParse(jsonOf(body));
  if (!parsed.success) {
    server.seen.violations.push(`The client sent an invalid message: ${parsed.error.message}`);
    return failureAnswer({ code: 'validation_failed' });
  }
  const { local_id: localId, content } = parsed.data;
  const result = await server.send({ localId, text: content.text ?? '', by: 'rest' });
  if (result === undefined) return undefined;
  if ('messageId' in result) {
    const message = server.world.messages.find(({ id }) => id === result.messageId) as MessageData;
    return { status: 201, body: { data: message }, after: result.event } as RestAnswer;
  }
  const { refusal } = result;
  const answer = failureAnswer(refusal);
  return { ...answer, body: errorBody(refusal), laterCode: refusal.laterCode } as RestAnswer;
}

function jsonOf(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}

/** One page. A scroll id is the index of its first message in list direction. */
function pageOf(ordered: MessageData[], query: URLSearchParams) {
  const forward = query.get('direction') === 'forward';
  const list = forward ? ordered : ordered.toReversed();
  const limit = Number(query.get('limit') ?? 50);
  const anchor = query.get('after') ?? query.get('before') ?? query.get('around');
  const anchorIndex = list.findIndex(({ id }) => id === anchor);
  const start = Math.max(0, anchorIndex === -1 ? Number(query.get('scrollId') ?? 0) : anchorIndex + 1);
  const end = start + limit;
  const hasNext = end < list.length;
  return {
    data: list.slice(start, end),
    pagination: {
      next_scroll_id: hasNext ? String(end) : null,
      prev_scroll_id: start > 0 ? String(Math.max(0, start - limit)) : null,
      has_next: hasNext,
      has_prev: start > 0,
    },
  };
}
