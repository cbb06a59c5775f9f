import { z } from 'zod';
import { LIMITS } from '../limits.js';
import { defineRoute, ok } from './define.js';
import { EXAMPLE } from './examples.js';

export const STREAM_PATH = '/v1/stream';

const statedPosition = z
  .string()
  .regex(
    /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}@(?:[a-z0-9]{1,32}:)?(?:0|[1-9]\d{0,14})$/i,
    'must be <workspace id>@<epoch>:<seq>',
  );

const workspaceIds = z.array(z.string().max(64)).min(1).max(LIMITS.subscriptionsPerSocket);

/** Each parameter may be repeated. */
export const StreamQuery = z.object({
  workspace_id: workspaceIds.meta({
    description: `Whose events to send; repeat the parameter for up to ${LIMITS.subscriptionsPerSocket} workspaces.`,
  }),
  since: z
    .array(statedPosition)
    .max(LIMITS.subscriptionsPerSocket)
    .default([])
    .meta({
      description:
        'A position of one workspace, as `<workspace id>@<epoch>:<seq>` with the value of `X-Workspace-Position`; repeat it for each ' +
        'workspace. The events after it are sent. A workspace without a position begins with its next event. A newer position in ' +
        '`Last-Event-ID` takes precedence.',
    }),
});

const streamHeaders = z.object({
  'last-event-id': z.string().optional().meta({
    description:
      'The `id` of the last event that the client has received: the events after it are sent, of all workspaces in `workspace_id`.',
  }),
  'x-resume-token': z
    .string()
    .optional()
    .meta({
      description:
        'The newest `resume_token` of `session.ready`, beside the credentials. It admits a reconnect also while the service cannot verify ' +
        'credentials.',
    }),
});

const eventStream = z.string().meta({ contentMediaType: 'text/event-stream' });

const exampleEvents = `retry: 2210

event: session.ready
data: {"session_id":"01931a5e-7c00-7000-8000-00000000000d","resumed":false,"resume_token":"eyJ1IjoiMDE5.c2lnbmF0dXJl","expires_in_ms":3600000,"limits":{"subscriptions":50,"events_per_second":20,"events_burst":40,"events_queued":64,"refusals_per_second":20,"refusals_burst":1000,"event_bytes":262144,"unread_bytes":1048576}}

event: workspace.subscribed
id: v1~5f0c6e1b9a2d4c37.AZMaXnwAcACAAAAAAAAAAQ41
data: {"workspace_ids":["${EXAMPLE.workspaceId}"],"rejected":[],"last_seq":{"${EXAMPLE.workspaceId}":41},"epoch":{"${EXAMPLE.workspaceId}":"5f0c6e1b9a2d4c37"},"state":{"${EXAMPLE.workspaceId}":{"agents":[],"streams":[]}}}

:

`;

/** Routes that the realtime gateway answers, under the same host. */
export const streamRoutes = [
  defineRoute({
    operationId: 'streamEvents',
    method: 'get',
    path: STREAM_PATH,
    auth: 'user',
    scope: 'read',
    reach: 'listed',
    tag: 'workspaces',
    summary: 'Receive the events of workspaces as server-sent events',
    description:
      'The events of the realtime interface, as `asyncapi.json` describes them, for clients without socket.io: `event` is the name, `data` ' +
      'the payload as JSON on one line. `session.ready` comes first, then `workspace.subscribed`, then the events.\n\n' +
      '- An event that moves the position has an `id`. Connect again with the last one in `Last-Event-ID`: no event is left out.\n' +
      '- A comment line is sent every 15 seconds. A response without a byte for 45 seconds is lost: connect again.\n' +
      '- `session.ending` is the last event, with the reason and whether to connect again. Before the credentials expire, it is sent with ' +
      '`in_ms`: connect again with new ones within that time.\n' +
      '- After `workspace.resync`, reload the workspace, and connect again with its position in `since` and without `Last-Event-ID`.\n' +
      '- Messages are sent with `POST …/messages`. A stream counts as a socket for all limits.',
    extension: true,
    query: StreamQuery,
    headers: streamHeaders,
    responses: ok(eventStream, 'The events, until the client or the server ends the response.'),
    errors: [
      'cursor_invalid',
      'origin_not_allowed',
      'resume_token_expired',
      'resume_token_invalid',
      'workspace_not_found',
    ],
    example: { query: { workspace_id: [EXAMPLE.workspaceId] }, answer: exampleEvents },
  }),
] as const;
