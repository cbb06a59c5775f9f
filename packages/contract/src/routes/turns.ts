import { LIMITS } from '../limits.js';
import { TurnStepPage } from '../resources/turn-step.js';
import { defineRoute, id, noContent, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';
import { pageQuery } from './pages.js';
import { turnSteps } from './turn-example.js';

const message = { workspaceId: id('workspace_not_found'), id: id('message_not_found') };

export const turnRoutes = [
  defineRoute({
    operationId: 'stopMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/stop',
    auth: 'user',
    scope: 'write',
    tag: 'messages',
    summary: 'Stop a reply, or all replies to a user message',
    description:
      'The reply ends within seconds, with the usual events and the error `stopped`. Text that was written so far remains.',
    extension: true,
    params: message,
    responses: noContent,
    errors: ['turn_not_running'],
    example: { params: { ...examples.inWorkspace, id: EXAMPLE.replyId } },
  }),
  defineRoute({
    operationId: 'listTurnSteps',
    method: 'get',
    path: '/v1/conversations/{conversationId}/turns/{turnId}/steps',
    auth: 'user',
    scope: 'read',
    tag: 'conversations',
    summary: 'List what an agent did in a turn, oldest first',
    description:
      'Model calls, texts, tool calls, approvals and delegations, while the turn runs and after it. The steps of a task have its own ' +
      '`turn_id`. Texts, and arguments and results of tools, are kept for ' +
      `${LIMITS.journalsKeptDays} days by default, and deleted with their message or conversation; the other steps remain. What users ` +
      'see of a call that changed data of uswarm is its receipt. Pages are listed forward only: `prev_scroll_id` is always null.',
    extension: true,
    params: { conversationId: id('conversation_not_found'), turnId: id('turn_not_found') },
    query: pageQuery.omit({ direction: true }),
    responses: ok(TurnStepPage),
    errors: ['cursor_invalid'],
    example: {
      params: { conversationId: EXAMPLE.conversationId, turnId: EXAMPLE.turnId },
      query: { limit: 20 },
      answer: { data: turnSteps, pagination: examples.lastPage },
    },
  }),
] as const;
