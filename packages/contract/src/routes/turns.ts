import { defineRoute, id, noContent } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

const message = { workspaceId: id('workspace_not_found'), id: id('message_not_found') };

export const turnRoutes = [
  defineRoute({
    operationId: 'stopMessage',
    method: 'post',
    path: '/v1/workspaces/{workspaceId}/messages/{id}/stop',
    auth: 'user',
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
] as const;
