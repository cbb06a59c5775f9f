import type { CallToolResult, McpServer, ServerContext } from '@modelcontextprotocol/server';
import { requireScope, type TokenScope } from '@uswarm/contract';
import { z } from 'zod';
import type { UserActor } from '../../accounts/auth/actor.js';
import type { ConversationService } from '../../chat/conversations.service.js';
import type { ArtifactService } from '../../workspaces/artifacts/artifacts.service.js';
import { toApiError } from '../../platform/http/errors.js';
import type { Ask } from '../ask.js';
import { textOf } from '../enter.js';
import type { ReachedWorkspace } from '../reached-workspace.js';

export interface WorkspaceToolsDeps {
  ask: Ask;
  reachedWorkspace: ReachedWorkspace;
  conversations: Pick<ConversationService, 'list'>;
  artifacts: Pick<ArtifactService, 'list' | 'get'>;
  onError: (error: unknown) => void;
}

const LISTED = 20;
const MOST_LISTED = 100;

const workspaceId = z.uuid().optional().describe('Default: the first workspace that the token reaches.');
const limit = z.number().int().min(1).max(MOST_LISTED).default(LISTED).describe('How many, newest first.');

const READS = { readOnlyHint: true, openWorldHint: false };

/** Progress ends the client's timeout; its message is the next part of the text. */
function reportProgress({ _meta, notify }: ServerContext['mcpReq']): (part: string) => void {
  const progressToken = _meta?.progressToken;
  if (progressToken === undefined) return () => undefined;
  let progress = 0;
  return (message) => {
    progress += message.length;
    // A client that has left gets no result either.
    notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(() => undefined);
  };
}

/** Adds tools for a user's workspaces. Errors become results with `isError`, as models expect. */
export function registerWorkspaceTools(server: McpServer, actor: UserActor, deps: WorkspaceToolsDeps): void {
  const { userId, access } = actor;

  async function answer(scope: TokenScope, produce: () => Promise<CallToolResult>): Promise<CallToolResult> {
    try {
      requireScope(access, scope);
      return await produce();
    } catch (error) {
      const failure = toApiError(error);
      if (failure.code === 'internal_error') deps.onError(error);
      return { isError: true, content: [{ type: 'text', text: `${failure.code}: ${textOf(failure)}` }] };
    }
  }

  server.registerTool(
    'ask',
    {
      title: 'Ask agents',
      description:
        'Sends a message to the agents of a workspace, and returns their answer. They may work for minutes. If they ask the user ' +
        'something, the answer is the question.',
      inputSchema: z.object({
        message: z.string().min(1).describe('What to ask or tell, as the user would.'),
        agent: z.string().optional().describe('Slug of one agent, such as researcher. Default: the swarm.'),
        conversation_id: z.uuid().optional().describe('Continues this conversation. Default: a new one.'),
        workspace_id: workspaceId,
      }),
      outputSchema: z.object({ conversation_id: z.string(), message_id: z.string(), text: z.string() }),
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: true },
    },
    ({ message, agent = 'swarm', conversation_id: id, workspace_id: workspace }, { mcpReq }) =>
      answer('write', async () => {
        const continues = id === undefined ? undefined : { conversationId: id };
        const question = { workspaceId: workspace, agent, continues, says: { text: message } };
        const following = { signal: mcpReq.signal, onText: reportProgress(mcpReq) };
        const { conversationId, questionId, text } = await deps.ask(actor, question, following);
        return {
          content: [{ type: 'text', text }],
          structuredContent: { conversation_id: conversationId, message_id: questionId, text },
        };
      }),
  );

  server.registerTool(
    'conversations',
    {
      title: 'List conversations',
      description: 'Lists conversations of a workspace, with id, title and the beginning of the last message.',
      inputSchema: z.object({ limit, workspace_id: workspaceId }),
      annotations: READS,
    },
    ({ limit: count, workspace_id: wanted }) =>
      answer('read', async () => {
        const workspace = await deps.reachedWorkspace(actor, wanted);
        const { data } = await deps.conversations.list(userId, workspace, { limit: count });
        return { content: [{ type: 'text', text: JSON.stringify(data) }] };
      }),
  );

  server.registerTool(
    'artifact',
    {
      title: 'Read a document',
      description: 'Returns a document that agents wrote, as Markdown. Without an id, lists the documents.',
      inputSchema: z.object({
        id: z.uuid().optional().describe('The document. Default: the list.'),
        version: z.number().int().min(1).optional().describe('Default: the latest.'),
        limit,
        workspace_id: workspaceId,
      }),
      annotations: READS,
    },
    ({ id, version, limit: count, workspace_id: wanted }) =>
      answer('read', async () => {
        const workspace = await deps.reachedWorkspace(actor, wanted);
        const text =
          id === undefined
            ? JSON.stringify((await deps.artifacts.list(userId, workspace, { limit: count })).data)
            : (await deps.artifacts.get(userId, workspace, id, version)).content;
        return { content: [{ type: 'text', text }] };
      }),
  );
}
