import { createDocument, type ZodOpenApiPathsObject } from 'zod-openapi';
import { ERRORS, ErrorBody } from '../errors.js';
import { LIMITS } from '../limits.js';
import { ROUTES, type RouteDefinition } from '../routes/index.js';
import { sharedErrorResponses } from './error-responses.js';
import { relax, withPlainNullables } from './json-schema.js';
import { operationOf } from './operation.js';
import { headerParameters, securitySchemes } from './security.js';
import { sortedByKey } from './stable.js';

export type OpenApiDocument = ReturnType<typeof createDocument>;

const DESCRIPTION = `The REST interface of uswarm. The realtime interface is described by
\`GET /v1/asyncapi.json\`.

- JSON names are snake_case; timestamps are ISO 8601.
- Answers may gain fields: ignore those that you do not know. Unknown fields of a body are ignored.
- Most answers are wrapped as \`{data}\`; a mutation with nothing to answer is 204.
- An error is \`{message, code, extra}\`; every code stands in \`x-error-catalogue\`. \`retryable\` says whether
  the same request may succeed later. A path that is none of these answers 404 \`route_not_found\`, another method
  of a path 405 \`method_not_allowed\` with \`Allow\`.
- JSON is compressed with gzip or brotli for clients that send \`Accept-Encoding\`. It may be nested ${LIMITS.jsonDepth} levels deep.
- Another user's things answer 404, like things that do not exist.
- Requests are limited by address, by user, by messages sent and by searches; health checks have a limit of their
  own. \`RateLimit-Policy\` names the limits with their quota (\`q\`) and window in seconds (\`w\`), \`RateLimit\` says
  what remains (\`r\`) and in how many seconds all of it is there again (\`t\`); both as in draft-ietf-httpapi-ratelimit-headers. A refusal is 429 \`rate_limited\` with
  \`Retry-After\`, \`extra.retry_after_ms\` and the name of the limit in \`extra.limit\`.
- Where the API is reached by https, every answer has \`Strict-Transport-Security\`.
- Every answer has \`X-Request-Id\`: the client's own where it sends one of 8 to 128 letters, digits or \`._-\`.
- Operations with \`x-extension\` go beyond the specification of the interface.`;

const TAGS = {
  core: 'Health, models, legal documents, push token',
  uploads: 'Files that messages carry',
  account: 'Signing in and out, profile, legal acceptance, usage',
  workspaces: 'Workspaces and the state of their runtime',
  agents: 'The agents of a workspace: settings, tools, memories',
  conversations: 'Conversations with the swarm or with one agent',
  messages: 'Messages and what can be done with them',
  integrations: 'Apps connected by OAuth',
};

/** The REST interface as OpenAPI 3.1; what `openapi.json` holds. */
export function buildOpenApi(): OpenApiDocument {
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: {
        title: 'uswarm',
        version: '1.0.0',
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: 'http://localhost:8080', description: 'Local mode' }],
      tags: Object.entries(TAGS).map(([name, description]) => ({ name, description })),
      paths: pathsOf(ROUTES),
      components: {
        schemas: { Error: ErrorBody },
        securitySchemes,
        parameters: headerParameters,
        responses: sharedErrorResponses(),
        headers: {
          RateLimit: {
            description: 'What is left of each limit that applies; see the description of the interface.',
            schema: { type: 'string' },
            example: '"ip";r=299;t=3, "user";r=0;t=2',
          },
          RateLimitPolicy: {
            description: 'The limits: quota and window in seconds.',
            schema: { type: 'string' },
            example: '"ip";q=300;w=3, "user";q=60;w=3, "sends";q=20;w=4, "search";q=20;w=10',
          },
          RetryAfter: { description: 'Seconds to wait before the request is repeated.', schema: { type: 'integer' } },
        },
      },
      'x-error-catalogue': sortedByKey(ERRORS),
    },
    { override: ({ jsonSchema }) => relax(jsonSchema) },
  );
  const { schemas = {} } = document.components ?? {};
  return withPlainNullables({ ...document, components: { ...document.components, schemas: sortedByKey(schemas) } });
}

function pathsOf(routes: readonly RouteDefinition[]): ZodOpenApiPathsObject {
  const byPath = Map.groupBy(routes, (route) => route.path);
  return Object.fromEntries(
    [...byPath].map(([path, group]) => [
      path,
      Object.fromEntries(group.map((route) => [route.method, operationOf(route)])),
    ]),
  );
}
