import { z } from 'zod';
import { DURABLE_EVENTS } from '../events/server.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

/** A sequence, or a position with its epoch. */
const position = z
  .string()
  .regex(/^(?:[a-z0-9]{1,32}:)?(?:0|[1-9]\d{0,14})$/, 'must be seq or epoch:seq')
  .meta({ description: 'The position of the client, as `seq` or `epoch:seq`.' });

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
    summary: 'List all durable events after a sequence, in order, up to 500 per response',
    description:
      'Has each `seq`, also of deleted resources and of events that a socket leaves out. If some of the events are no longer stored, or the position belongs to another epoch, the response is ' +
      '`resync_required` with `last_seq` and `epoch` in `extra`: reload the workspace.',
    extension: true,
    params: workspace,
    query: z.object({ since: position.default('0') }),
    responses: ok(
      z.strictObject({
        data: z.array(ReplayedEvent),
        has_next: z.boolean().meta({ description: 'Whether there are more events after the last one.' }),
      }),
    ),
    errors: ['resync_required'],
    example: {
      params: examples.ofWorkspace,
      query: { since: '1' },
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
