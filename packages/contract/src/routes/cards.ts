import { OpenCardPage } from '../resources/message.js';
import { approvalCard } from './card-example.js';
import { defineRoute, ok } from './define.js';
import * as examples from './examples.js';
import { pageQuery } from './pages.js';

export const cardRoutes = [
  defineRoute({
    operationId: 'listOpenCards',
    method: 'get',
    path: '/v1/open-cards',
    auth: 'user',
    scope: 'read',
    reach: 'listed',
    tag: 'messages',
    summary: 'List all cards that wait for the user, oldest first',
    description:
      'A card about a call or about the budget of an answer waits until it is decided, withdrawn or expired. Other questions wait until ' +
      'the user chooses an answer, or sends another message to the conversation; they can still be answered then. Choose with ' +
      '`POST /v1/workspaces/{workspaceId}/messages/{id}/action`. The events about messages report each change. Pages are listed forward ' +
      'only: `prev_scroll_id` is always null.',
    extension: true,
    query: pageQuery.omit({ direction: true }),
    responses: ok(OpenCardPage),
    errors: ['cursor_invalid'],
    example: {
      query: { limit: 20 },
      answer: {
        data: [{ workspace_id: examples.EXAMPLE.workspaceId, message: approvalCard }],
        pagination: examples.lastPage,
      },
    },
  }),
] as const;
