import { z } from 'zod';
import { DURABLE_EVENTS } from '../events/server.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

const workspace = { id: id('workspace_not_found') };

/** A durable event in the format of the socket. The AsyncAPI document defines the payloads. */
const ReplayedEvent = z
  .strictObject({
    seq: z.int().positive(),
    event: z.enum(DURABLE_EVENTS),
    payload: z.record(z.string(), z.unknown()).meta({
      description:
        'The same payload as on the socket, with the current state of the resource. For a deleted resource: `{workspace_id, seq, deleted: true, id}`.',
    }),
  })
  .meta({ id: 'ReplayedEvent' });
export type ReplayedEvent = z.output<typeof ReplayedEvent>;

export const eventRoutes = [
  defineRoute({
    operationId: 'listWorkspaceEvents',
    method: 'get',
    path: '/v1/workspaces/{id}/events',
    auth: 'user',
    tag: 'workspaces',
    summary: 'List the durable events after a sequence, in order and without gaps, up to 500 per response',
    extension: true,
    params: workspace,
    query: z.object({ since: z.coerce.number().int().nonnegative().default(0) }),
    responses: ok(
      z.strictObject({
        data: z.array(ReplayedEvent),
        has_next: z.boolean().meta({ description: 'Whether there are more events after the last one.' }),
      }),
    ),
    errors: ['resync_required'],
    example: {
      params: examples.ofWorkspace,
      query: { since: 1 },
      answer: {
        data: [
          {
            seq: 2,
            event: 'message.new',
            payload: { seq: 2, workspace_id: EXAMPLE.workspaceId, message: { ...examples.sentMessage } },
          },
        ],
        has_next: false,
      },
    },
  }),
] as const;
