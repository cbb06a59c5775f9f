import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { ERRORS, ErrorBody } from '../errors.js';
import { LIMITS } from '../limits.js';
import { GATEWAY_ROUTES, ROUTES, type RouteDefinition } from '../routes/index.js';
import { UnknownContent } from '../resources/message.js';
import { errorExamples } from './error-examples.js';
import { productVersion, restServers } from './installation.js';
import { sharedErrorResponses } from './error-responses.js';
import { relax, withOpenValues, withPlainUnions } from './json-schema.js';
import { operationOf } from './operation.js';
import { type DocumentOptions, headerParameters, securitySchemes } from './security.js';
import { groupedBy, sortedByKey } from './stable.js';

export type OpenApiDocument = ReturnType<typeof createDocument>;

const DESCRIPTION = `The REST API of uswarm. \`GET /v1/asyncapi.json\` describes the realtime interface.

- JSON names are snake_case; timestamps are ISO 8601.
- Fields may be added to responses: ignore unknown ones. Unknown fields of a request body are ignored,
  except in bodies that set limits or permissions, as their descriptions state: there they are \`validation_failed\`.
- Values may be added to every list of values without a new version of the API: error codes, statuses, roles, skills, providers,
  types of content, names of events. Such lists have \`x-extensible-enum\`. Clients must accept unknown values: treat an unknown
  error code by its HTTP status, and content of an unknown \`type\` as \`UnknownContent\`. Never send a value back that the client
  does not know.
- In a request body, null means the same as an absent field, also where a schema does not list it. The exceptions are fields
  with a null in their schema and its effect in their description. In a list, null is not an entry.
- \`Accept\` is ignored: each resource has one media type. Limits of characters count Unicode code points, as \`maxLength\` does.
- Most responses are wrapped as \`{data}\`; a mutation without a result returns 204.
- Errors are \`{message, code, extra}\`; all codes are listed in \`x-error-catalogue\`. \`retryable\` states whether
  the same request may succeed later. An unknown path returns 404 \`route_not_found\`; an unsupported method returns
  405 \`method_not_allowed\` with \`Allow\`.
- JSON is compressed with gzip or brotli for clients that send \`Accept-Encoding\`. It may be nested up to ${LIMITS.jsonDepth} levels.
- Messages, conversations and workspaces have \`rev\`, which rises with each change that clients see. Replace a copy only by one
  with a higher \`rev\`, from a response or an event. \`rev\` does not cover the status of an agent inside another resource and the
  links of attachments; \`updated_at\` is for display only.
- Resources of other users return 404, like resources that do not exist.
- Rate limits apply per address, per user, to messages sent and to searches; health checks have a separate limit.
  \`RateLimit-Policy\` lists the limits with quota (\`q\`) and window in seconds (\`w\`). \`RateLimit\` states the remaining
  quota (\`r\`) and the seconds until it is fully restored (\`t\`). Both follow draft-ietf-httpapi-ratelimit-headers. A
  rejected request returns 429 \`rate_limited\` with \`Retry-After\`, \`extra.retry_after_ms\` and the name of the limit in
  \`extra.limit\`.
- If the API is served over HTTPS, every response has \`Strict-Transport-Security\`.
- Every response has \`X-Request-Id\`. A client may send its own: 8 to 128 letters, digits or \`._-\`.
- Every operation reads the headers in \`components/parameters\`: \`X-Device-Info\`, \`X-Device-ID\`, \`X-Version\`, \`X-Timezone\` and, with
  credentials, \`X-Signature\` and \`X-Timestamp\`. Set them at one place of the client, such as an interceptor.
- Operations with \`x-extension\` extend the specification of the interface.`;

const TAGS = {
  core: 'Health, models, legal documents, push token',
  uploads: 'Files attached to messages',
  account: 'Sign-in and logout, profile, legal acceptance, usage',
  workspaces: 'Workspaces and the state of their runtime',
  agents: 'The agents of a workspace: settings, tools, memories',
  conversations: 'Conversations with the swarm or with one agent',
  messages: 'Messages and their actions',
  artifacts: 'Documents that agents write',
  workflows: 'Plans of steps that agents work on in the background',
  schedules: 'What agents do later, or regularly',
  triggers: 'URLs with which other systems ask an agent',
  receipts: 'Signed records of calls that changed something in another system',
  integrations: 'Apps connected through OAuth',
  webhooks: 'Addresses that receive the events of a workspace',
};

/** The REST interface as OpenAPI 3.1 (`openapi.json`). */
export function buildOpenApi(options: DocumentOptions = {}): OpenApiDocument {
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'uswarm',
        version: options.version ?? productVersion(),
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: restServers(options),
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: pathsOf([...ROUTES, ...GATEWAY_ROUTES], options),
      components: {
        schemas: { Error: ErrorBody, UnknownContent },
        securitySchemes: securitySchemes(options),
        parameters: headerParameters,
        responses: sharedErrorResponses(),
        examples: errorExamples(),
        headers: {
          RateLimit: {
            description: 'The remaining quota of each applicable limit; see the description of the API.',
            schema: { type: 'string' },
            example: '"ip";r=299;t=3, "user";r=0;t=2',
          },
          RateLimitPolicy: {
            description: 'The applicable limits with quota and window in seconds.',
            schema: { type: 'string' },
            example: '"ip";q=300;w=3, "user";q=60;w=3, "sends";q=20;w=4, "search";q=20;w=10',
          },
          WorkspacePosition: {
            description:
              'Epoch and sequence of the workspace before the response was read: it contains all events up to the sequence. Send it ' +
              'as `since` of `workspace.subscribe` to receive the events after it. Of a list in several pages, use the position of ' +
              'the first one.',
            schema: { type: 'string', pattern: '^[a-z0-9]{1,32}:[0-9]+$' },
            example: '5f0c6e1b9a2d4c37:41',
          },
          RetryAfter: { description: 'Seconds to wait before retrying.', schema: { type: 'integer' } },
        },
      },
      'x-error-catalogue': sortedByKey(ERRORS),
    },
    { override: ({ jsonSchema }) => relax(jsonSchema) },
  );
  const { schemas = {} } = document.components ?? {};
  const sorted = { ...document, components: { ...document.components, schemas: sortedByKey(schemas) } };
  return withPlainUnions(withOpenValues(sorted));
}

function pathsOf(routes: readonly RouteDefinition[], options: DocumentOptions): ZodOpenApiPathsObject {
  const byPath = groupedBy(routes, (route) => route.path);
  return Object.fromEntries(
    [...byPath].map(([path, group]) => [
      path,
      Object.fromEntries(group.map((route) => [route.method, operationOf(route, options)])),
    ]),
  );
}
