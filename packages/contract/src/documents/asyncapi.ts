import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { CLIENT_EVENTS, type ClientEventName } from '../events/client.js';
import { DURABLE_EVENTS } from '../enums.js';
import { SERVER_EVENTS, type ServerEventName } from '../events/server.js';
import { SESSION_ENDINGS } from '../events/sessions.js';
import { STREAM_PATH, StreamQuery } from '../routes/index.js';
import { EVENT_EXAMPLES } from './event-examples.js';
import { LIMITS } from '../limits.js';
import { UnknownContent } from '../resources/message.js';
import { productVersion, realtimeServers } from './installation.js';
import { hoistedSchema, withOpenValues, withPlainUnions } from './json-schema.js';
import { type DocumentOptions, headerParameters, securitySchemes } from './security.js';
import { sortedByKey } from './stable.js';

type JsonObject = { [key: string]: unknown };

/** The used parts of AsyncAPI 3.0. */
export interface AsyncApiDocument extends JsonObject {
  asyncapi: '3.0.0';
  servers: Record<string, JsonObject>;
  channels: Record<string, JsonObject>;
  operations: Record<string, JsonObject>;
  components: {
    messages: Record<string, JsonObject>;
    schemas: Record<string, JsonObject>;
    securitySchemes: JsonObject;
  };
}

const ENDINGS = Object.entries(SESSION_ENDINGS)
  .map(([code, { summary, reconnect }]) => `  \`${code}\` (${summary}${reconnect ? '; reconnect' : ''})`)
  .join(',\n');

const DESCRIPTION = `The realtime interface of uswarm: socket.io (protocol 5), path \`/socket.io/\`, namespace \`/v1\`.
Each message is one socket.io event: the event name is the message name, and the only argument is the payload.
Clients without socket.io receive the same events as server-sent events of \`GET /v1/stream\`, and send over REST.

- Send credentials as handshake headers or as entries of \`auth\` under the lower-case header names. Clients should
  pass a function, so that each attempt sends a fresh timestamp.
- A \`connect_error\` with \`data\` is final for these credentials; \`data\` is the documented error object. If the
  service is temporarily unable to authenticate, it closes the transport instead, and the client reconnects with back-off.
- \`session.ready\` follows each connect. A client that sends its \`resume_token\` as the \`auth\` entry of that name, beside the
  credentials, reconnects also while the service is temporarily unable to authenticate. Without credentials, a refused
  token is a final \`connect_error\` (\`resume_token_invalid\`, \`resume_token_expired\`, \`token_revoked\`).
- A minute before the credentials expire, \`session.ending\` with \`token_expired\` announces it. \`session.renew\` with new
  credentials of the same user keeps the connection; the reply is a new \`session.ready\`. Otherwise the transport closes.
- Events with \`x-durable\` carry \`seq\`, their number in the workspace, and are kept for 7 days. On a socket \`seq\` increases, and
  may jump: numbers are left out whose event a later one replaces, or whose resource is deleted. A jump is not a loss. The service
  finds losses itself and sends what is missing, or \`workspace.resync\`. Other events are broadcast to connected clients only.
- An event contains the state of the resource at the time of sending. After a loss a client receives the creation and the last change of
  each resource: \`message.new\` and \`message.updated\` with the same message. \`message.new\` is never left out unless the message is deleted.
- Messages, conversations and workspaces have \`rev\`, the \`seq\` of their last change. Replace a copy only by an event or
  a response with a higher \`rev\`. Apply events in the order of their \`seq\`; then responses may arrive at any time, and both more than once.
  \`updated_at\` is for display only.
- A response of the REST interface has \`X-Workspace-Position: <epoch>:<seq>\`: it contains all events up to \`seq\`. Send
  it as \`since\` of \`workspace.subscribe\` to receive the events after it. The epoch changes if the database may
  have lost writes; \`workspace.resync\` then tells the client to reload.
- \`local_id\` is a permanent idempotency key: the same id and body return the first result.
- Limits: ${LIMITS.socketsPerUser} sockets per user (a further one closes the oldest); ${LIMITS.eventsPerSocket.perSecond} events per second and socket,
  with bursts of ${LIMITS.eventsPerSocket.burst}. Events above the limit fail with \`rate_limited\` and \`retry_after_ms\`, which differs for each
  event, so that a whole outbox can be sent together and repeated at these times. A client that causes more than
  ${LIMITS.refusalsPerSocket.burst} such refusals, and then ${LIMITS.refusalsPerSocket.perSecond} per second, is disconnected for some seconds (\`session.ending\`, \`rate_limited\`).
- The events of a socket are handled one after another. While the service is slow, ${LIMITS.queuedEventsPerSocket} events wait, each for up to 5 seconds
  after the one before it; further ones fail with \`service_unavailable\` and \`retry_after_ms\`, which never ends a session.
- A payload above \`limits.event_bytes\` of \`session.ready\` fails with \`payload_too_large\`. An event above ${LIMITS.packetBytes / 1024 ** 2} MiB is not
  read: the connection closes (WebSocket code 1009; with polling, status 413). Check the size before sending, and do not send
  such an event again.
- Before the server closes a connection, it sends \`session.ending\`, unless the client does not read. Codes:
${ENDINGS}.
- Fields, events and values may be added without a new version: error codes, statuses, reasons, types of content. Ignore unknown
  fields and events, and accept unknown values of lists with \`x-extensible-enum\`. Content of an unknown \`type\` is an \`UnknownContent\`.
- In a payload of a client, null means the same as an absent field, also where a schema does not list it. In a list, null is
  not an entry.
- Messages with \`x-extension\` extend the specification of the interface.`;

/** The responses to client events. */
const REPLIES: Partial<Record<ClientEventName, ServerEventName[]>> = {
  'workspace.subscribe': ['workspace.subscribed'],
  'session.renew': ['session.ready', 'session.renew.error'],
  'message.send': ['message.send.ack', 'message.send.error'],
};

/** The realtime interface as AsyncAPI 3.0 (`asyncapi.json`). Actions are the server's. */
export function buildAsyncApi(options: DocumentOptions = {}): AsyncApiDocument {
  const schemas = createSchemaCollection();
  schemas.add(UnknownContent, 'output');
  const schemes = securitySchemes(options);
  const security = Object.keys(schemes).map((name) => ({ $ref: `#/components/securitySchemes/${name}` }));
  const messages = {
    ...mapEntries(CLIENT_EVENTS, (name, event) => message(name, event, schemas.add(event.payload, 'input'))),
    ...mapEntries(SERVER_EVENTS, (name, event) => message(name, event, schemas.add(event.payload, 'output'))),
  };
  const document: AsyncApiDocument = {
    asyncapi: '3.0.0',
    info: {
      title: 'uswarm realtime',
      version: options.version ?? productVersion(),
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', url: 'https://www.apache.org/licenses/LICENSE-2.0' },
    },
    defaultContentType: 'application/json',
    servers: mapEntries(realtimeServers(options), (_, server) => ({ ...server, security })),
    channels: { v1: channel(Object.keys(messages)), stream: streamChannel() },
    operations: {
      ...mapEntries(CLIENT_EVENTS, (name, event) => receiveOperation(name, event)),
      ...mapEntries(SERVER_EVENTS, (name, event) => sendOperation(name, event)),
      streamEvents: streamOperation(schemas.add(StreamQuery, 'input')),
    },
    components: {
      messages,
      schemas: options.bypass === true ? schemas.sorted() : withoutBypass(schemas.sorted()),
      securitySchemes: handshakeSchemes(schemes),
    },
  };
  return withPlainUnions(withOpenValues(document));
}

interface EventDefinition {
  summary: string;
  payload: z.ZodType;
  extension?: true;
}

function message(name: string, event: EventDefinition, payload: JsonObject): JsonObject {
  const { [name]: example } = EVENT_EXAMPLES;
  return {
    name,
    title: name,
    summary: event.summary,
    ...marksOf(name, event),
    payload,
    examples: [{ name: 'example', summary: event.summary, payload: example }],
  };
}

function marksOf(name: string, event: Pick<EventDefinition, 'extension'>): JsonObject {
  const durable = (DURABLE_EVENTS as readonly string[]).includes(name);
  return { ...(event.extension === true ? { 'x-extension': true } : {}), ...(durable ? { 'x-durable': true } : {}) };
}

const messageReferences = (names: readonly string[]): JsonObject =>
  Object.fromEntries(names.map((name) => [name, { $ref: `#/components/messages/${name}` }]));

function channel(messageNames: string[]): JsonObject {
  const headers = Object.values(headerParameters).map(({ name, description }) => [
    name,
    { type: 'string', description },
  ]);
  return {
    address: '/v1',
    title: 'Namespace /v1',
    description: 'The only socket.io namespace. Events of a workspace are sent after `workspace.subscribe`.',
    messages: messageReferences(messageNames),
    bindings: {
      ws: {
        method: 'GET',
        headers: { type: 'object', properties: Object.fromEntries(headers) },
        bindingVersion: '0.1.0',
      },
    },
  };
}

/** Client events and their answers, which a stream cannot have. */
const SOCKET_ONLY: ReadonlySet<string> = new Set(['message.send.ack', 'message.send.error', 'session.renew.error']);
const STREAM_EVENTS = Object.keys(SERVER_EVENTS).filter((name) => !SOCKET_ONLY.has(name));

function streamChannel(): JsonObject {
  return {
    address: STREAM_PATH,
    title: 'Server-sent events',
    description:
      'The same events on the HTTP port of the REST interface, as the response to `GET /v1/stream`, which `openapi.json` describes as `streamEvents`. In each event, `event` is the ' +
      'name, `data` the payload, and `id` the position, if the event moves it.',
    messages: messageReferences(STREAM_EVENTS),
  };
}

function streamOperation(query: JsonObject): JsonObject {
  return {
    action: 'send',
    channel: { $ref: '#/channels/stream' },
    summary: 'Receive the events of workspaces as server-sent events.',
    'x-extension': true,
    messages: STREAM_EVENTS.map((name) => ({ $ref: `#/channels/stream/messages/${name}` })),
    bindings: { http: { method: 'GET', query, bindingVersion: '0.3.0' } },
  };
}

const channelReference = { $ref: '#/channels/v1' };
const messageReference = (name: string) => ({ $ref: `#/channels/v1/messages/${name}` });

function receiveOperation(name: ClientEventName, event: EventDefinition): JsonObject {
  const answers = REPLIES[name];
  return {
    action: 'receive',
    channel: channelReference,
    summary: event.summary,
    ...marksOf(name, event),
    messages: [messageReference(name)],
    ...(answers === undefined ? {} : { reply: { channel: channelReference, messages: answers.map(messageReference) } }),
  };
}

function sendOperation(name: string, event: EventDefinition): JsonObject {
  return {
    action: 'send',
    channel: channelReference,
    summary: event.summary,
    ...marksOf(name, event),
    messages: [messageReference(name)],
  };
}

/** The same credentials as for REST. In AsyncAPI, a key in an HTTP header is `httpApiKey`. */
function handshakeSchemes(schemes: ReturnType<typeof securitySchemes>): JsonObject {
  return mapEntries(schemes, (_, scheme) =>
    scheme.type === 'apiKey' ? { ...scheme, type: 'httpApiKey' } : { ...scheme },
  );
}

/** Production documents describe `session.renew` without the end-to-end bypass. */
function withoutBypass({ Credentials, ...schemas }: Record<string, JsonObject>): Record<string, JsonObject> {
  const properties = Object.entries(Credentials?.['properties'] ?? {}).filter(([name]) => !name.startsWith('x-e2e-'));
  return sortedByKey({ ...schemas, Credentials: { ...Credentials, properties: Object.fromEntries(properties) } });
}

function createSchemaCollection() {
  const collected: Record<string, JsonObject> = {};
  return {
    /** The schema with references to its named parts in the components. */
    add(schema: z.ZodType, io: 'input' | 'output'): JsonObject {
      const hoisted = hoistedSchema(schema, io);
      for (const [name, definition] of Object.entries(hoisted.components)) {
        if (collected[name] !== undefined && !isDeepStrictEqual(collected[name], definition)) {
          throw new Error(`two different schemas are named ${name}`);
        }
        collected[name] = definition;
      }
      return hoisted.schema;
    },
    sorted: () => sortedByKey(collected),
  };
}

function mapEntries<Name extends string, Value, Result>(
  record: Readonly<Record<Name, Value>>,
  change: (name: Name, value: Value) => Result,
): Record<string, Result> {
  const entries = Object.entries(record) as [Name, Value][];
  return Object.fromEntries(entries.map(([name, value]) => [name, change(name, value)]));
}
