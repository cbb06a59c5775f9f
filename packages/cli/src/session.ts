import { type Client, UswarmError } from '@uswarm/client';
import {
  type AgentSummary,
  type Artifact,
  type ArtifactSummary,
  type Conversation,
  LIMITS,
  type MessageData,
  type MessagePage,
  type TurnStepPage,
  type TurnSteps,
  type Workspace,
} from '@uswarm/contract';
import { Failure } from './failure.js';

/** REST calls for a chat. Each throws a Failure with the cause. */
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
  /** A message page, newest first; without a `scrollId`, the newest messages. */
  messagePage(workspaceId: string, conversationId: string, scrollId?: string): Promise<MessagePage>;
  /** Chooses a card action. */
  choose(workspaceId: string, messageId: string, actionId: string): Promise<void>;
  /** Stops all replies to a user message. */
  stop(workspaceId: string, messageId: string): Promise<void>;
  /** The artifacts that changed last. */
  artifacts(workspaceId: string): Promise<ArtifactSummary[]>;
  /** An artifact with its content. */
  artifact(workspaceId: string, artifactId: string): Promise<Artifact>;
  /** A turn with all its steps. */
  steps(conversationId: string, turnId: string): Promise<TurnSteps>;
}

export function createSession({ api }: Pick<Client, 'api'>): Session {
  /** The client's types also allow values from later releases; the chat has the same release as its server. */
  async function read<Result>(operation: string, response: Promise<unknown>): Promise<Result> {
    try {
      return (await response) as Result;
    } catch (error) {
      throw failureOf(operation, error);
    }
  }
  const listMessages = (workspaceId: string, id: string, query: { limit: number; scrollId?: string }) =>
    read<MessagePage>(
      'listMessages',
      api.get('/v1/workspaces/{workspaceId}/conversations/{id}/messages', {
        path: { workspaceId, id },
        query: { direction: 'backward', ...query },
      }),
    );
  const data = <Result>(operation: string, response: Promise<{ data: unknown }>): Promise<Result> =>
    read<{ data: Result }>(operation, response).then((body) => body.data);

  return {
    signUp: () => read('signUp', api.post('/v1/auth/sign-up')),
    workspaces: () => data('listWorkspaces', api.get('/v1/workspaces')),
    workspace: (id) => data('getWorkspace', api.get('/v1/workspaces/{id}', { path: { id } })),
    agents: (workspaceId) =>
      data('listAgents', api.get('/v1/workspaces/{workspaceId}/agents', { path: { workspaceId } })),
    async swarmConversation(workspaceId) {
      const route = '/v1/workspaces/{workspaceId}/conversations';
      const path = { workspaceId };
      const all = await data<Conversation[]>('listConversations', api.get(route, { path }));
      const found = all.find(({ type }) => type === 'swarm');
      return found ?? data('createConversation', api.post(route, { path, body: { type: 'swarm' } }));
    },
    latestMessages: async (workspaceId, id, limit) => (await listMessages(workspaceId, id, { limit })).data,
    messagePage: (workspaceId, id, scrollId) =>
      listMessages(workspaceId, id, { limit: LIMITS.pageMaximum, ...(scrollId !== undefined && { scrollId }) }),
    async choose(workspaceId, id, actionId) {
      const route = '/v1/workspaces/{workspaceId}/messages/{id}/action';
      await read('chooseAction', api.post(route, { path: { workspaceId, id }, body: { action_id: actionId } }));
    },
    stop: (workspaceId, id) =>
      read('stopMessage', api.post('/v1/workspaces/{workspaceId}/messages/{id}/stop', { path: { workspaceId, id } })),
    artifacts: (workspaceId) =>
      data('listArtifacts', api.get('/v1/workspaces/{workspaceId}/artifacts', { path: { workspaceId } })),
    artifact: (workspaceId, id) =>
      data('getArtifact', api.get('/v1/workspaces/{workspaceId}/artifacts/{id}', { path: { workspaceId, id } })),
    async steps(conversationId, turnId) {
      const route = '/v1/conversations/{conversationId}/turns/{turnId}/steps';
      const path = { conversationId, turnId };
      const steps: TurnSteps['steps'] = [];
      for (let scrollId: string | undefined; ;) {
        const query = { limit: LIMITS.pageMaximum, ...(scrollId !== undefined && { scrollId }) };
        const page = await read<TurnStepPage>('listTurnSteps', api.get(route, { path, query }));
        steps.push(...page.data.steps);
        scrollId = page.pagination.next_scroll_id ?? undefined;
        if (scrollId === undefined) return { ...page.data, steps };
      }
    },
  };
}

function failureOf(operation: string, error: unknown): Failure {
  if (!(error instanceof UswarmError)) return new Failure(`${operation} failed.`, { cause: error });
  const { code, message, status } = error;
  if (code === 'network_error') return new Failure(message, { cause: error });
  if (code === 'invalid_response') return new Failure(`${operation} returned status ${status}.`);
  if (status === 401 || status === 403) return new Failure(`uswarm rejected the credentials: ${message} (${code})`);
  return new Failure(`${operation} failed: ${message} (${code})`);
}
