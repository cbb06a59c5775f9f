import {
  ErrorBody,
  ROUTES,
  type AgentSummary,
  type Artifact,
  type ArtifactSummary,
  type Conversation,
  LIMITS,
  type MessageData,
  type MessagePage,
  type OperationId,
  type RouteAnswer,
  type RouteDefinition,
  type Workspace,
} from '@uswarm/contract';
import { z } from 'zod';
import { Failure } from './failure.js';
import type { HttpClient } from './http-client.js';
import type { IdTokenSource } from './id-token.js';

/** The REST calls of a chat. Each throws a Failure with the cause. */
export interface Session {
  /** Creates the user and the first workspace. Idempotent. */
  signUp(): Promise<void>;
  workspaces(): Promise<Workspace[]>;
  workspace(workspaceId: string): Promise<Workspace>;
  agents(workspaceId: string): Promise<AgentSummary[]>;
  /** Returns the conversation with the swarm, and creates it if it does not exist. */
  swarmConversation(workspaceId: string): Promise<Conversation>;
  /** Newest first. */
  latestMessages(workspaceId: string, conversationId: string, limit: number): Promise<MessageData[]>;
  /** A page of messages, newest first; without a `scrollId`, of the newest ones. */
  messagePage(workspaceId: string, conversationId: string, scrollId?: string): Promise<MessagePage>;
  /** Chooses an action of a card. */
  choose(workspaceId: string, messageId: string, actionId: string): Promise<void>;
  /** Stops all replies to a user message. */
  stop(workspaceId: string, messageId: string): Promise<void>;
  /** The artifacts that changed last. */
  artifacts(workspaceId: string): Promise<ArtifactSummary[]>;
  /** An artifact with its content. */
  artifact(workspaceId: string, artifactId: string): Promise<Artifact>;
}

export interface SessionDeps {
  http: Pick<HttpClient, 'send'>;
  idTokens: IdTokenSource;
  url: string;
}

interface CallOptions {
  params?: Record<string, string>;
  query?: Record<string, string>;
  body?: unknown;
}

type BodyOf<Operation extends OperationId> = Extract<RouteAnswer<Operation>, { body: unknown }>['body'];

export function createSession({ http, idTokens, url }: SessionDeps): Session {
  async function call<Operation extends OperationId>(
    operation: Operation,
    { params = {}, query, body }: CallOptions = {},
  ): Promise<BodyOf<Operation>> {
    const route = ROUTES.find(({ operationId }) => operationId === operation) as RouteDefinition;
    const path = route.path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ''));
    const search = query === undefined ? '' : `?${new URLSearchParams(query)}`;
    const response = await http.send({
      method: route.method.toUpperCase(),
      url: `${url}${path}${search}`,
      headers: { 'x-token': await idTokens.current() },
      json: body,
    });
    return documentedBody(route, response.status, response.body) as BodyOf<Operation>;
  }

  return {
    signUp: async () => void (await call('signUp')),
    workspaces: async () => (await call('listWorkspaces')).data,
    workspace: async (id) => (await call('getWorkspace', { params: { id } })).data,
    agents: async (workspaceId) => (await call('listAgents', { params: { workspaceId } })).data,
    async swarmConversation(workspaceId) {
      const { data } = await call('listConversations', { params: { workspaceId } });
      const found = data.find(({ type }) => type === 'swarm');
      if (found !== undefined) return found;
      return (await call('createConversation', { params: { workspaceId }, body: { type: 'swarm' } })).data;
    },
    async latestMessages(workspaceId, id, limit) {
      const query = { limit: String(limit), direction: 'backward' };
      return (await call('listMessages', { params: { workspaceId, id }, query })).data;
    },
    messagePage: (workspaceId, id, scrollId) =>
      call('listMessages', {
        params: { workspaceId, id },
        query: {
          limit: String(LIMITS.pageMaximum),
          direction: 'backward',
          ...(scrollId !== undefined && { scrollId }),
        },
      }),
    async choose(workspaceId, id, actionId) {
      await call('chooseAction', { params: { workspaceId, id }, body: { action_id: actionId } });
    },
    stop: async (workspaceId, id) => void (await call('stopMessage', { params: { workspaceId, id } })),
    artifacts: async (workspaceId) => (await call('listArtifacts', { params: { workspaceId } })).data,
    artifact: async (workspaceId, id) => (await call('getArtifact', { params: { workspaceId, id } })).data,
  };
}

function documentedBody(route: RouteDefinition, status: number, body: unknown): unknown {
  const response = route.responses[status];
  if (response === undefined) throw errorOf(route, status, body);
  if (response.schema === null) return undefined;
  const parsed = response.schema.safeParse(body);
  if (parsed.success) return parsed.data;
  throw new Failure(`${route.operationId} returned an undocumented response: ${z.prettifyError(parsed.error)}`);
}

function errorOf(route: RouteDefinition, status: number, body: unknown): Failure {
  const error = ErrorBody.safeParse(body);
  if (!error.success) return new Failure(`${route.operationId} returned status ${status}.`);
  const { message, code } = error.data;
  if (status === 401 || status === 403) return new Failure(`uswarm rejected the credentials: ${message} (${code})`);
  return new Failure(`${route.operationId} failed: ${message} (${code})`);
}
