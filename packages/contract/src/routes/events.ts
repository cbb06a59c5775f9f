import { z } from 'zod';
import { DURABLE_EVENTS } from '../enums.js';
import { defineRoute, id, ok } from './define.js';
import * as examples from './examples.js';
import { EXAMPLE } from './examples.js';

/** A sequence, or a position with its epoch. */
const position = z
  .string()
  .regex(/^(?:[a-z0-9]{1,32}:)?(?:0|[1-9]\d{0,14})$/, 'must be seq or epoch:seq')
  .default('0')
  .meta({ description: 'The position of the client, as `seq` or `epoch:seq`; 0 for all events that are stored.' });

const workspace = { id: id('workspace_not_found') };

/** The AsyncAPI document defines the payloads. */
const ReplayedEvent = z
  .strictObject({
    seq: z.int().positive().meta({ description: 'The number of the event in its workspace.' }),
    event: z.enum(DURABLE_EVENTS).meta({ description: 'What happened, as the name of a socket event.' }),
    payload: z.record(z.string(), z.unknown()).meta({
      description:
        'The same payload as on the socket, with the current state of the resource. For a deleted resource: `{workspace_id, seq, deleted: true, id}`.',
    }),
  })
  .meta({ id: 'ReplayedEvent', description: 'A durable event in the format of the socket.' });
export type ReplayedEvent = z.output<typeof ReplayedEvent>;

const ReplayedEventList = z
  .strictObject({
    data: z.array(ReplayedEvent).meta({ description: 'The events after `since` in the order of `seq`, up to 500.' }),
    has_next: z.boolean().meta({ description: 'Whether there are more events after the last one.' }),
  })
  .meta({ id: 'ReplayedEventList', description: 'Durable events that a client has missed.' });

export const eventRoutes = [
  defineRoute({
    operationId: 'listWorkspaceEvents',
    method: 'get',
    path: '/v1/workspaces/{id}/events',
    auth: 'user',
    scope: 'read',
    tag: 'workspaces',
    summary: 'List all durable events after a sequence, in order, up to 500 per response',
    description:
      'Has each `seq`, also of deleted resources and of events that a socket leaves out. If some of the events are no longer stored, or the position belongs to another epoch, the response is ' +
      '`resync_required` with `last_seq` and `epoch` in `extra`: reload the workspace.',
    extension: true,
    params: workspace,
    query: z.object({ since: position }),
    responses: ok(ReplayedEventList),
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
